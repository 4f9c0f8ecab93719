// Statement that records devices which could not install a release.

import { storableText } from '../../contract/text.ts';
import type { ReportedFailure } from '../plan-ledger.ts';
import type { Sql } from './database.ts';

// A client address writes no more rows of a release than could ever count: as many as there are in 1 % of the
// devices of the app.
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
 * Records failures, each device once for a release, only of devices that were on record when the release was
 * published. Both the device's channel and the one that it follows may have the version: then both releases
 * get the row, and count it only if they were offered to the device. Must be called in a transaction: under
 * the locks of the devices, either this sees the first offer, or whoever records that offer sees the failure.
 */
export async function recordFailures(
  sql: Sql,
  failures: readonly ReportedFailure[],
): Promise<void> {
  if (failures.length === 0) return;
  const text = (value: string | undefined) => (value === undefined ? null : storableText(value));
  const appIds = failures.map(({ appId }) => appId);
  const deviceIds = failures.map(({ deviceId }) => text(deviceId));
  await sql.query('SELECT lock_device_parts($1::text[], $2::text[])', [appIds, deviceIds]);
  await sql.query(RECORD, [
    appIds,
    failures.map(({ channel }) => text(channel)),
    deviceIds,
    failures.map(({ runs }) => text(runs)),
    failures.map(({ canonicalVersion }) => text(canonicalVersion)),
    failures.map(({ reason }) => text(reason)),
    failures.map(({ network }) => network ?? null),
  ]);
}
