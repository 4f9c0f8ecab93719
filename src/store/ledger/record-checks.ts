// Statement that records check-ins of devices that asked themselves, as far as new devices are admitted.

import { type CheckIn, coalesceCheckIns } from '../../domain/fleet/check-in.ts';
import { wideNetworkOf } from '../../domain/fleet/network-words.ts';
import type {
  AdmissionBounds,
  CheckKind,
  LeftDevice,
  RecordedChecks,
  UnadmittedCheck,
} from '../fleet-ledger.ts';
import type { DeviceName, StoredLabels } from '../label-store.ts';
import { clientColumnsOf, columnsOf, storable } from './check-ins.ts';
import type { Sql } from './database.ts';
import type { DeviceKeeping } from './device-keeping.ts';
import { parseLabels } from './labels-text.ts';

/**
 * Row of a device that has something to be told: its labels, when its check-in carried some; its last
 * sighting, when it was left as it is, or seen later; the bound that it met, when it was refused.
 */
type Row = {
  readonly place: number;
  readonly labels: string | null;
  readonly revision: number;
  readonly seenAt: number | null;
  readonly bound: UnadmittedCheck['bound'] | null;
};

/** Factor from the bound of a network to that of a /48, which one customer may have as a whole. */
const WIDE_FACTOR = 10;

export type ChecksRule = {
  readonly bounds: AdmissionBounds;
  /** Tells devices that are known to be on record. */
  readonly isRecorded: ((device: DeviceName) => boolean) | undefined;
  readonly keeping: DeviceKeeping;
  /** Name under which the caller remembers what it recorded; undefined when it does not. */
  readonly writer: string | undefined;
};

/**
 * Calls one function of the database, which is a transaction by itself: new devices are counted and recorded,
 * or neither. Otherwise like `recordCheckIns`.
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
  const rows = await sql.query<Row>(
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
    labels.push({ appId, deviceId, labels: parseLabels(row.labels), revision: row.revision });
  }
  return { labels, unadmitted, left };
}
