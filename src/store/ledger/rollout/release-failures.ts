// SQL of devices that failed to install a release: records them, and reads the failure breakdown.

import { isFailure, type Outcome } from '../../../contract/failure.ts';
import type {
  FailureBreakdown,
  FailureReason,
  PlanGuards,
} from '../../../contract/rollout-plan.ts';
import { failurePlaces, type PlaceCounts } from '../../../domain/rollout/failure-places.ts';
import type { ReportedFailure } from '../../fleet-ledger.ts';
import type { ReleaseName, TenantScope } from '../../ledger-terms.ts';
import { findReleaseByName } from '../change/plan-rows.ts';
import { columns, isoText, textOrNull } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';
import {
  countSignals,
  highestHash,
  IS_KNOWN,
  REACHED_SAMPLE,
  reachedScale,
  readSignalTaking,
  SIGNAL_CONDITIONS,
  type SignalTaking,
  signalTaking,
  signalTimes,
} from './rollout-signals.ts';

const REASONS_MAX = 20;
/** Maximum number of failures whose reasons are read. */
const FAILURES_READ_MAX = 10_000;

const counted = (name: keyof typeof SIGNAL_CONDITIONS) =>
  `count(*) FILTER (WHERE ${SIGNAL_CONDITIONS[name]})::float8`;

const PLACE_COLUMNS = columns<PlaceCounts>({
  dimension: `CASE WHEN grouping(platform) = 0 THEN 'platform' ELSE 'version' END`,
  name: 'coalesce(platform, version_before)',
  failed: `count(*) FILTER (WHERE has_failed)::float8`,
  failedBase: counted('failedBase'),
  reverted: counted('reverted'),
  revertedBase: counted('revertedBase'),
  stuck: counted('stuck'),
  stuckBase: counted('stuckBase'),
  silent: counted('silent'),
  silentBase: counted('silentBase'),
});

/** Failures of the release $1 that its health counts: of each client address, the first `perNetwork`. */
const failuresThatCount = (perNetwork: string) => `(
  SELECT device_id, reason, at FROM (
    SELECT device_id, reason, at, network,
      row_number() OVER (PARTITION BY network ORDER BY at, device_id) AS place
    FROM release_failures
    WHERE release_id = $1 AND is_offered AND ${IS_KNOWN}
  ) AS told WHERE network IS NULL OR place <= ${perNetwork}::float8
)`;

// A device that has not installed the release is counted by the version that it runs; one that has, by the
// version before, which is unknown if it ran the release already, or if that change of version is deleted.
const PLACES = `
  WITH failed AS MATERIALIZED (
    SELECT device_id FROM ${failuresThatCount('$7')} AS counted
  ), placed AS MATERIALIZED (
    SELECT looked_at.*, device_id IN (SELECT device_id FROM failed) AS has_failed,
      CASE WHEN installed_at IS NULL THEN version ELSE coalesce((
        SELECT from_version FROM device_versions AS change
        WHERE change.app_id = looked_at.app_id AND change.device_id = looked_at.device_id
          AND change.at = looked_at.installed_at LIMIT 1
      ), '') END AS version_before
    FROM ${REACHED_SAMPLE}
  )
  SELECT ${PLACE_COLUMNS} FROM placed, ${signalTimes('$5', '$6')}
  GROUP BY GROUPING SETS ((platform), (version_before))`;

const REASON_COLUMNS = columns<FailureReason>({
  reason: 'reason',
  devices: 'count(*)::float8',
  at: isoText('max(newest.at)'),
});

const REASONS = `
  SELECT ${REASON_COLUMNS} FROM (
    SELECT nullif(reason, '') AS reason, at FROM ${failuresThatCount('$4')} AS counted
    ORDER BY counted.at DESC LIMIT ${FAILURES_READ_MAX}
  ) AS newest
  GROUP BY reason ORDER BY count(*) DESC, max(newest.at) DESC LIMIT ${REASONS_MAX}`;

/**
 * Reads the failures of a release: its signals by platform and by previous version, and the reasons of failed
 * installations, over the devices that its health counts, or about 10,000 of them. In such a sample, failures
 * and reverted devices are those of the sample, although the health counts all of them.
 */
export async function readFailureBreakdown(
  sql: Sql,
  scope: TenantScope,
  name: ReleaseName,
): Promise<Outcome<FailureBreakdown>> {
  const found = await findReleaseByName(sql, scope, name);
  if (isFailure(found)) return found;
  const releaseId = found.release.id;
  const taking = await readSignalTaking(sql, releaseId);
  const { signals, scale, perNetwork } = await readSample(sql, releaseId, taking);
  const reasons = await sql.query<FailureReason>(REASONS, [
    ...[releaseId, taking.known, taking.isPushed, perNetwork],
  ]);
  return { signals, scale, reasons };
}

/** Reads the signals of a release by platform and by previous version, as these guards count them. */
export async function readPlaces(
  sql: Sql,
  releaseId: string,
  guards: PlanGuards | null,
): Promise<FailureBreakdown['signals']> {
  return (await readSample(sql, releaseId, signalTaking(guards))).signals;
}

async function readSample(
  sql: Sql,
  releaseId: string,
  { known, isPushed, stuckAfterMinutes, silentAfterMinutes }: SignalTaking,
) {
  const { reached, offered } = await countSignals(sql, releaseId, known, isPushed);
  const scale = reachedScale(reached);
  const perNetwork = Math.max(3, Math.floor(offered / 100));
  const places = await sql.query<PlaceCounts>(PLACES, [
    ...[releaseId, known, isPushed, highestHash(scale)],
    ...[stuckAfterMinutes, silentAfterMinutes, perNetwork],
  ]);
  return { signals: failurePlaces(places), scale, perNetwork };
}

// One client address gets no more rows than can ever count: three, or 1 % of the app's devices.
const RECORD = `
  INSERT INTO release_failures
    (release_id, app_id, device_id, network, known, pushed, is_offered, version, reason)
  SELECT DISTINCT ON (releases.id, item.device_id) releases.id, item.app_id, item.device_id, item.network,
    coalesce(reached.known, signal_edge(releases.published_at - devices.first_seen)),
    coalesce(reached.pushed, signal_edge(releases.published_at - devices.first_reported), -1),
    reached.offered_at IS NOT NULL,
    item.version, item.reason
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
    AS item (app_id, channel, device_id, version, failed_version, reason, network)
  JOIN channels ON channels.app_id = item.app_id AND channels.name = item.channel
  JOIN releases ON releases.channel_id IN (channels.id, channels.follows)
    AND releases.canonical_version = item.failed_version
  JOIN devices ON devices.app_id = item.app_id AND devices.device_id = item.device_id
  LEFT JOIN release_devices AS reached ON reached.app_id = item.app_id
    AND reached.device_id = item.device_id AND reached.release_id = releases.id
  WHERE releases.is_watched AND devices.first_seen <= releases.published_at AND (item.network IS NULL OR (
    SELECT count(*) FROM release_failures AS other
    WHERE other.release_id = releases.id AND other.network = item.network
  ) < greatest(3, (
    SELECT coalesce(sum(fleet_counts.devices), 0) / 100 FROM fleet_counts
    WHERE fleet_counts.app_id = item.app_id
  )))
  ORDER BY releases.id, item.device_id
  ON CONFLICT (release_id, device_id) DO UPDATE SET is_offered = TRUE,
      known = excluded.known, pushed = excluded.pushed
    WHERE excluded.is_offered AND NOT release_failures.is_offered`;

/**
 * Records failed installations, once per device and release, of devices that were on record when the release
 * was published. Skips versions that neither the channel nor the one it follows has; where both have the
 * version, both releases get a row, which counts only if that release was offered to the device. Call it in a
 * transaction, which locks the devices' parts: either this sees the first offer to a device, or the recording
 * of that offer sees the failure.
 */
export async function recordFailures(
  sql: Sql,
  failures: readonly ReportedFailure[],
): Promise<void> {
  if (failures.length === 0) return;
  const appIds = failures.map(({ appId }) => appId);
  const deviceIds = failures.map(({ deviceId }) => textOrNull(deviceId));
  await sql.query('SELECT lock_device_parts($1::text[], $2::text[])', [appIds, deviceIds]);
  await sql.query(RECORD, [
    appIds,
    failures.map(({ channel }) => textOrNull(channel)),
    deviceIds,
    failures.map(({ runs }) => textOrNull(runs)),
    failures.map(({ canonicalVersion }) => textOrNull(canonicalVersion)),
    failures.map(({ reason }) => textOrNull(reason)),
    failures.map(({ network }) => network ?? null),
  ]);
}
