// A device as a statement reads it, and as the port wants it.

import type { CheckInSource } from '../../domain/check-in.ts';
import type { DeviceRecord } from '../../ports/fleet-ledger.ts';
import { isoText } from './iso-text.ts';
import { parseLabels } from './labels-text.ts';

export type DeviceRow = {
  readonly deviceId: string;
  /** Empty when unknown, as is the architecture. */
  readonly version: string;
  readonly platform: string;
  readonly arch: string;
  readonly channel: string;
  readonly labels: string;
  readonly source: CheckInSource;
  readonly firstSeen: string;
  readonly lastSeen: string;
  readonly offeredVersion: string | null;
  readonly offeredAt: string | null;
};

/** The columns of a `DeviceRow`, for the rows of `devices` and, left joined, `releases` at hand. */
export const DEVICE_COLUMNS = `devices.device_id AS "deviceId", devices.version, devices.platform,
  devices.arch, devices.channel, devices.labels::text AS labels, devices.source,
  ${isoText('devices.first_seen')} AS "firstSeen", ${isoText('devices.last_seen')} AS "lastSeen",
  releases.version AS "offeredVersion", ${isoText('devices.last_offered_at')} AS "offeredAt"`;

export function deviceOf(row: DeviceRow): DeviceRecord {
  const { deviceId, version, platform, arch, channel, source, firstSeen, lastSeen } = row;
  const { offeredVersion, offeredAt } = row;
  return {
    deviceId,
    version: version === '' ? null : version,
    platform,
    arch: arch === '' ? null : arch,
    channel,
    labels: Object.fromEntries(parseLabels(row.labels)),
    source,
    firstSeen,
    lastSeen,
    lastOffered:
      offeredVersion === null || offeredAt === null
        ? null
        : { version: offeredVersion, at: offeredAt },
  };
}
