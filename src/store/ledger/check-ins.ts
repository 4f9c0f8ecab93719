// Statement that records check-ins in the fleet's tables.

import { storableText } from '../../contract/text.ts';
import { type CheckIn, coalesceCheckIns } from '../../domain/fleet/check-in.ts';
import type { CheckKind } from '../fleet-ledger.ts';
import type { StoredLabels } from '../label-store.ts';
import type { Sql } from './database.ts';
import type { DeviceKeeping } from './device-keeping.ts';
import { labelsText, parseLabels } from './labels-text.ts';

type Row = { readonly place: number; readonly labels: string; readonly revision: number };

/**
 * Calls one function of the database, which is a transaction by itself: it stores devices, their versions and
 * the counts, or none of them. All writers of the fleet take the same lock before they read, so the counts
 * follow from what is stored. Check-ins from a queue have times of their own: recorded again, even after
 * newer ones of the device, they change nothing. Check-ins that somebody waits for are newer than everything
 * that is stored, and their time is the database's.
 */
export async function recordCheckIns(
  sql: Sql,
  checkIns: readonly CheckIn[],
  kind: CheckKind,
  { freshnessMs, history }: DeviceKeeping,
): Promise<readonly StoredLabels[]> {
  const distinct = coalesceCheckIns(checkIns.map(storable));
  if (distinct.length === 0) return [];
  const rows = await sql.query<Row>(
    `SELECT check_in_place AS place, current_labels AS labels, current_revision AS revision
     FROM record_check_ins($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
       $7::text[], $8::bigint[], $9::text[], $10::text[], $11::boolean, $12::text[], $13::text[],
       $14::integer, $15::integer)`,
    [
      ...columnsOf(distinct, kind),
      kind === 'awaited',
      ...clientColumnsOf(distinct),
      ...[freshnessMs, history],
    ],
  );
  return rows.map(({ place, labels, revision }) => {
    const checkIn = distinct[place - 1];
    if (checkIn === undefined) throw new Error(`There is no check-in ${place}`);
    const { appId, deviceId } = checkIn;
    return { appId, deviceId, labels: parseLabels(labels), revision };
  });
}

/** Makes the texts of a check-in storable. Two device ids that become the same text name the same device. */
export function storable(checkIn: CheckIn): CheckIn {
  const { appId, deviceId, channel, version, platform, arch, bundle, offeredReleaseId } = checkIn;
  return {
    source: checkIn.source,
    client: checkIn.client,
    bundle: bundle === undefined ? undefined : storableText(bundle),
    at: checkIn.at,
    labels: checkIn.labels,
    labelTimes: checkIn.labelTimes,
    appId: storableText(appId),
    deviceId: storableText(deviceId),
    channel: storableText(channel),
    version: version === undefined ? undefined : storableText(version),
    platform: storableText(platform),
    arch: storableText(arch),
    offeredReleaseId: offeredReleaseId === undefined ? undefined : storableText(offeredReleaseId),
  };
}

/**
 * Returns the fields of check-ins as the first ten arguments of the functions that record them. What somebody
 * waits for is newer than everything that is stored: its labels have no times of their own.
 */
export function columnsOf(checkIns: readonly CheckIn[], kind: CheckKind): readonly unknown[] {
  return [
    checkIns.map(({ appId }) => appId),
    checkIns.map(({ deviceId }) => deviceId),
    checkIns.map(({ channel }) => channel),
    checkIns.map(({ version }) => version ?? ''),
    checkIns.map(({ platform }) => platform),
    checkIns.map(({ arch }) => arch),
    checkIns.map(({ source }) => source),
    checkIns.map(({ at }) => Math.trunc(at)),
    checkIns.map(({ offeredReleaseId }) => offeredReleaseId ?? ''),
    checkIns.map(({ labels, labelTimes }) =>
      labelsText(labels, kind === 'queued' ? labelTimes : undefined),
    ),
  ];
}

/** Returns how the devices asked, as the two arguments of those functions that tell it. */
export function clientColumnsOf(checkIns: readonly CheckIn[]): readonly unknown[] {
  return [checkIns.map(({ client }) => client ?? ''), checkIns.map(({ bundle }) => bundle ?? '')];
}
