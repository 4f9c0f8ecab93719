// SQL of the releases that reached one device: its offers, installations, returns and failures.

import type { DeviceRelease } from '../../../contract/console-fleet.ts';
import { storableText } from '../../../contract/text.ts';
import { columns, isoText } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';

/** Number of an app's releases whose failures are looked up, the newest ones. */
const RELEASES_LOOKED_AT = 500;
/** Maximum number of releases that are returned, those with the latest event first. */
const RELEASES_MAX = 50;

const COLUMNS = columns<DeviceRelease>({
  version: 'releases.version',
  channel: 'releases.channel',
  status: 'releases.status',
  offeredAt: isoText('reached.offered_at'),
  installedAt: isoText('reached.installed_at'),
  revertedAt: isoText('reached.reverted_at'),
  failedAt: isoText('failure.at'),
  failedReason: 'failure.reason',
});

/**
 * Each lookup is by the primary key of its table. A device that came after a release was published has no
 * rows for it.
 */
const RELEASES = `
  SELECT ${COLUMNS}
  FROM (
    SELECT releases.id, releases.version, releases.status, channels.name AS channel
    FROM channels JOIN releases ON releases.channel_id = channels.id
    WHERE channels.app_id = $1
    ORDER BY releases.created_at DESC, releases.id DESC LIMIT ${RELEASES_LOOKED_AT}
  ) AS releases
  LEFT JOIN release_devices AS reached
    ON reached.app_id = $1 AND reached.device_id = $2 AND reached.release_id = releases.id
  LEFT JOIN release_failures AS failure
    ON failure.release_id = releases.id AND failure.device_id = $2 AND failure.app_id = $1
  WHERE reached.release_id IS NOT NULL OR failure.release_id IS NOT NULL
  ORDER BY greatest(reached.offered_at, reached.installed_at, reached.reverted_at, failure.at) DESC NULLS LAST
  LIMIT ${RELEASES_MAX}`;

/** Lists a device's offers, installations, returns and failures by release, latest event first. */
export async function listDeviceReleases(
  sql: Sql,
  appId: string,
  deviceId: string,
): Promise<readonly DeviceRelease[]> {
  return sql.query<DeviceRelease>(RELEASES, [appId, storableText(deviceId)]);
}
