// Row of a device as statements read it, and its conversion to the contract's record.

import type { DeviceRecord } from '../../contract/console-fleet.ts';
import { isDeviceClient } from '../../contract/device-client.ts';
import type { CheckInSource } from '../../domain/fleet/check-in.ts';
import { columns, isoText } from './columns.ts';
import { parseLabels } from './labels-text.ts';

export type DeviceRow = {
  readonly deviceId: string;
  /** Canonical version; empty when unknown. */
  readonly version: string;
  readonly platform: string;
  /** Architecture; empty when unknown. */
  readonly arch: string;
  readonly channel: string;
  /** Labels as the text of a JSON object. */
  readonly labels: string;
  readonly source: CheckInSource;
  /** Way in which it asked last; empty when unknown. */
  readonly client: string;
  /** Kind that it was installed from; empty when it did not tell. */
  readonly bundle: string;
  readonly firstSeen: string;
  readonly lastSeen: string;
  readonly offeredVersion: string | null;
  readonly offeredAt: string | null;
};

/** Columns of a `DeviceRow`, for rows of `devices` left joined with `releases`. */
export const DEVICE_COLUMNS = columns<DeviceRow>({
  deviceId: 'devices.device_id',
  version: 'devices.version',
  platform: 'devices.platform',
  arch: 'devices.arch',
  channel: 'devices.channel',
  labels: 'devices.labels::text',
  source: 'devices.source',
  client: 'devices.client',
  bundle: 'devices.bundle',
  firstSeen: isoText('devices.first_seen'),
  lastSeen: isoText('devices.last_seen'),
  offeredVersion: 'releases.version',
  offeredAt: isoText('devices.last_offered_at'),
});

/** Converts a row to the contract's record, which has null where the row has an empty text. */
export function deviceOf(row: DeviceRow): DeviceRecord {
  const { deviceId, version, platform, arch, channel, source, client, bundle } = row;
  const { firstSeen, lastSeen, offeredVersion, offeredAt } = row;
  return {
    deviceId,
    version: version === '' ? null : version,
    platform,
    arch: arch === '' ? null : arch,
    channel,
    labels: Object.fromEntries(parseLabels(row.labels)),
    source,
    client: isDeviceClient(client) ? client : null,
    bundle: bundle === '' ? null : bundle,
    firstSeen,
    lastSeen,
    lastOffered:
      offeredVersion === null || offeredAt === null
        ? null
        : { version: offeredVersion, at: offeredAt },
  };
}
