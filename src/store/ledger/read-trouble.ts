// Statements that tell where the trouble of a release is: its signals by platform and version, and why
// devices failed.

import { isFailure, type Outcome, type UnknownRelease } from '../../contract/failure.ts';
import type { FailureReason, ReleaseTrouble } from '../../contract/release-trouble.ts';
import { type PlaceCounts, troublePlaces } from '../../domain/rollout/trouble-places.ts';
import type { Reach } from '../reach.ts';
import type { ReleaseName } from '../release-name.ts';
import { columns, isoText } from './columns.ts';
import type { Sql } from './database.ts';
import { findReleaseByName } from './planned-release.ts';
import { countSignals } from './read-signals.ts';
import {
  highestHash,
  IS_KNOWN,
  REACHED_SAMPLE,
  reachedScale,
  SIGNAL_CONDITIONS,
  signalTimes,
} from './signal-conditions.ts';
import { readSignalTaking } from './signal-taking.ts';

const REASONS_MAX = 20;
/** Number of failures whose reasons are read. */
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

/**
 * Failures of the release $1 that count as in the health: of a client address the first ones, up to a number
 * that is a parameter.
 */
const failuresThatCount = (perNetwork: string) => `(
  SELECT device_id, reason, at FROM (
    SELECT device_id, reason, at, network,
      row_number() OVER (PARTITION BY network ORDER BY at, device_id) AS place
    FROM release_failures
    WHERE release_id = $1 AND is_offered AND ${IS_KNOWN}
  ) AS told WHERE network IS NULL OR place <= ${perNetwork}::float8
)`;

// The version before is that of the change which brought the device to the release; none is known of one that
// was on that version already, or that has forgotten so early a change.
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
 * Reads where the trouble of a release is, of the devices by which its health is judged: of more than 10,000
 * that it reached about 10,000 are looked at. Above that number, failures and reverted devices are those of
 * the devices that were looked at, although the health has all of them.
 */
export async function readTrouble(
  sql: Sql,
  reach: Reach,
  name: ReleaseName,
): Promise<Outcome<ReleaseTrouble, UnknownRelease>> {
  const found = await findReleaseByName(sql, reach, name);
  if (isFailure(found)) return found;
  const releaseId = found.release.id;
  const { known, isPushed, ...after } = await readSignalTaking(sql, releaseId);
  const { reached, offered } = await countSignals(sql, releaseId, known, isPushed);
  const scale = reachedScale(reached);
  const perNetwork = Math.max(3, Math.floor(offered / 100));
  const places = await sql.query<PlaceCounts>(PLACES, [
    ...[releaseId, known, isPushed, highestHash(scale)],
    ...[after.stuckAfterMinutes, after.silentAfterMinutes, perNetwork],
  ]);
  const reasons = await sql.query<FailureReason>(REASONS, [
    ...[releaseId, known, isPushed, perNetwork],
  ]);
  return { signals: troublePlaces(places), scale, reasons };
}
