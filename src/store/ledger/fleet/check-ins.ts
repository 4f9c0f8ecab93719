// SQL that records check-ins, and limits how many new devices they add.

import { storableText } from '../../../contract/text.ts';
import { type CheckIn, coalesceCheckIns } from '../../../domain/fleet/check-in.ts';
import { wideNetworkOf } from '../../../domain/fleet/network-words.ts';
import type {
  AdmissionBounds,
  CheckKind,
  DeviceWriter,
  LeftDevice,
  RecordedChecks,
  UnadmittedCheck,
} from '../../fleet-ledger.ts';
import type { DeviceName, StoredLabels } from '../../label-store.ts';
import { columns } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';
import { labelsText, parseTimedLabels } from './labels.ts';

type Row = { readonly place: number; readonly labels: string; readonly revision: number };

/**
 * Records check-ins and updates the counts with one database function, which is one transaction: it stores
 * devices, versions and counts, or nothing. Returns the merged labels of the devices whose check-in carried
 * labels. Durable when it resolves. Check-ins of unknown apps are dropped. A check-in that only moves
 * `lastSeen`, within the hour and by less than the freshness of devices, does not rewrite the row. All
 * writers of a device's part take the same lock before they read, so the counts match the rows.
 *
 * Queued check-ins have their own times; a future one, in a check-in or in a row, counts as the ledger's
 * present. The newest check-in of a device wins, so batches may be repeated and arrive in any order. Awaited
 * check-ins count as newer than every row, at the ledger's present time; `at` only orders those of one
 * device.
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
    return { appId, deviceId, ...parseTimedLabels(labels), revision };
  });
}

/** Makes the texts of a check-in storable. Two device ids that become equal name the same device. */
function storable(checkIn: CheckIn): CheckIn {
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
 * Returns the first ten arguments of the recording functions. Labels of an awaited check-in have no times of
 * their own, because it is newer than every row.
 */
function columnsOf(checkIns: readonly CheckIn[], kind: CheckKind): readonly unknown[] {
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

/** Returns the clients and bundles of check-ins, as arguments of the recording functions. */
function clientColumnsOf(checkIns: readonly CheckIn[]): readonly unknown[] {
  return [checkIns.map(({ client }) => client ?? ''), checkIns.map(({ bundle }) => bundle ?? '')];
}

/**
 * Row of a device with something to report: its labels, if its check-in carried any; its last-seen time, if
 * the check-in changed nothing or came after a later one; the limit that rejected it.
 */
type RecordChecksRow = {
  readonly place: number;
  readonly labels: string | null;
  readonly revision: number;
  readonly seenAt: number | null;
  readonly bound: UnadmittedCheck['bound'] | null;
};

/** Factor from the limit of a network to that of a /48, all of which one customer may have. */
const WIDE_FACTOR = 10;

type ChecksRule = {
  readonly bounds: AdmissionBounds;
  /** Returns whether the caller knows a device to be on record. */
  readonly isRecorded: ((device: DeviceName) => boolean) | undefined;
  readonly keeping: DeviceKeeping;
  /** Name of a caller that caches what it recorded; undefined for others. */
  readonly writer: string | undefined;
};

/**
 * Records checks like `recordCheckIns`, but rejects new devices beyond `bounds` per minute. The minute is
 * that of the check-in's time, at most an hour ago. New devices are recorded and counted in one transaction,
 * so repeated check-ins count once. Devices for which `isRecorded` is true are not looked up. A caller that
 * caches what it recorded gives its name as `writer`.
 */
export async function recordChecks(
  sql: Sql,
  checkIns: readonly CheckIn[],
  kind: CheckKind,
  { bounds: { perNetwork, perApp }, isRecorded = () => false, keeping, writer }: ChecksRule,
): Promise<RecordedChecks> {
  const distinct = coalesceCheckIns(
    checkIns.map((checkIn) => ({ ...storable(checkIn), network: checkIn.network })),
  );
  const networks = distinct.map((checkIn) =>
    isRecorded(checkIn) ? null : (checkIn.network ?? ''),
  );
  const rows = await sql.query<RecordChecksRow>(
    `SELECT check_in_place AS place, current_labels AS labels, current_revision AS revision,
       refused_by AS bound, seen_ms::float8 AS "seenAt"
     FROM record_checks($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
       $7::text[], $8::bigint[], $9::text[], $10::text[], $11::boolean, $12::text[], $13::text[],
       $14::integer, $15::integer, $16::integer, $17::text[], $18::text[], $19::integer,
       $20::integer, $21::text, $22::text[])`,
    [
      ...columnsOf(distinct, kind),
      kind === 'awaited',
      networks,
      networks.map((network) => wideNetworkOf(network ?? '') ?? ''),
      ...[perNetwork, perNetwork * WIDE_FACTOR, perApp],
      ...clientColumnsOf(distinct),
      ...[keeping.freshnessMs, keeping.history, writer ?? ''],
      distinct.map(({ network }) => (network && (wideNetworkOf(network) ?? network)) ?? null),
    ],
  );
  const labels: StoredLabels[] = [];
  const unadmitted: UnadmittedCheck[] = [];
  const left: LeftDevice[] = [];
  for (const row of rows) {
    const checkIn = distinct[row.place - 1];
    if (checkIn === undefined) throw new Error(`There is no check-in ${row.place}`);
    const { appId, deviceId, network } = checkIn;
    if (row.bound !== null) unadmitted.push({ appId, deviceId, network, bound: row.bound });
    if (row.seenAt !== null) left.push({ appId, deviceId, seenAt: row.seenAt });
    if (row.labels === null) continue;
    labels.push({ appId, deviceId, ...parseTimedLabels(row.labels), revision: row.revision });
  }
  return { labels, unadmitted, left };
}

const WRITER_COLUMNS = columns<DeviceWriter>({
  part: 'part',
  writer: 'writer',
  turns: 'turns::float8',
  awaited: 'awaited::float8',
});

/**
 * Reads the last writer of each of these parts. Waits for the shared lock of each part, and so for the
 * transactions that are writing it: devices that are recorded for waiting callers after the answer have a
 * later time than the answer.
 */
export async function readWriters(
  sql: Sql,
  parts: readonly number[],
): Promise<readonly DeviceWriter[]> {
  return sql.query<DeviceWriter>(
    `SELECT ${WRITER_COLUMNS} FROM read_device_writers($1::smallint[])`,
    [[...parts].sort((left, right) => left - right)],
  );
}

const DEVICE_COLUMNS = columns<DeviceName>({
  appId: 'awaited_devices.app_id',
  deviceId: 'awaited_devices.device_id',
});

/**
 * Reads which devices of these parts were recorded for waiting callers, after the number in `since` of each
 * part; undefined when there are more than `limit`. Such records go back two hours. Numbers are assigned
 * under the lock of the part, so none appears below one that was read.
 */
export async function readAwaited(
  sql: Sql,
  parts: readonly number[],
  since: readonly number[],
  limit: number,
): Promise<readonly DeviceName[] | undefined> {
  const devices = await sql.query<DeviceName>(
    `SELECT ${DEVICE_COLUMNS}
     FROM unnest($1::smallint[], $2::bigint[]) AS known (part, number)
     JOIN awaited_devices ON awaited_devices.part = known.part
       AND awaited_devices.number > known.number
     LIMIT $3`,
    [parts, since, limit + 1],
  );
  return devices.length > limit ? undefined : devices;
}

/**
 * Deletes at most `rowsMax` counts of new devices in minutes over an hour ago, which no check-in reads;
 * returns how many.
 */
export async function forgetAdmissions(sql: Sql, rowsMax: number): Promise<number> {
  const rows = await sql.query(
    `DELETE FROM admissions WHERE ctid = ANY (ARRAY (
       SELECT ctid FROM admissions
       WHERE minute < date_trunc('minute', fleet_time()) - interval '1 hour'
       ORDER BY minute LIMIT $1
     )) RETURNING 1 AS one`,
    [rowsMax],
  );
  return rows.length;
}

/** Reads the ledger's clock, in milliseconds since 1970; all records are ordered by it. */
export async function readTime(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ ms: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
  );
  if (row === undefined) throw new Error('The database did not tell its time');
  return row.ms;
}

export type DeviceKeeping = {
  /** Maximum lag of a device's stored `lastSeen`, in milliseconds. */
  readonly freshnessMs: number;
  /** Number of version changes kept per device, at most 100. */
  readonly history: number;
};

export const USUAL_KEEPING: DeviceKeeping = { freshnessMs: 300_000, history: 10 };
