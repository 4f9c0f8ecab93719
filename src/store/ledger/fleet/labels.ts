// SQL of labels: those of given devices, and the changes of labels in their order, which nodes poll to learn
// what they missed.

import { storableText } from '../../../contract/text.ts';
import type { Labels } from '../../../domain/decision/targeting.ts';
import type { TimedLabels } from '../../../domain/fleet/labels.ts';
import type { LabelChanges, RecordedLabels } from '../../fleet-ledger.ts';
import type { DeviceName } from '../../label-store.ts';
import type { Sql } from '../database/database.ts';

type Row = { readonly epoch: number; readonly newest: number; readonly changes: string };

/** Fields of one change: app id, device id, revision, position, and labels for `parseTimedLabels`. */
type Change = [string, string, number, number, string];

/**
 * Reads at most `limit` label changes after a position of the present epoch, in one consistent read;
 * undefined reads only the newest position. Once a reader has seen a position, no lower one appears: writers
 * of several parts of the fleet commit side by side, in another order than that of their positions, so this
 * reads up to the settled position, below which no change can appear any more. A device is listed once, with
 * its latest change; an index has only the devices whose labels changed. Positions fit into a double for
 * longer than any fleet can change.
 */
export async function readLabelChanges(
  sql: Sql,
  after: number | undefined,
  limit: number,
): Promise<LabelChanges> {
  const settled = await readSettledPosition(sql);
  const rows = await sql.query<Row>(
    `SELECT present_epoch() AS epoch,
       coalesce((
         SELECT max(labels_position) FROM devices WHERE labels_position <= $3::bigint
       ), 0)::float8 AS newest,
       coalesce((
         SELECT json_agg(json_build_array(
           app_id, device_id, labels_revision, labels_position,
           jsonb_build_array(labels, label_times)::text
         ) ORDER BY labels_position)
         FROM (
           SELECT app_id, device_id, labels_revision, labels_position, labels, label_times
           FROM devices
           WHERE labels_position > $1::bigint AND labels_position <= $3::bigint
           ORDER BY labels_position LIMIT $2::integer
         ) AS changed
       ), '[]')::text AS changes`,
    [after ?? null, limit, settled],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('The ledger did not tell its label changes');
  const changes = JSON.parse(row.changes) as readonly Change[];
  return {
    epoch: row.epoch,
    newest: row.newest,
    changed: changes.map(([appId, deviceId, revision, position, labels]) => {
      return { appId, deviceId, revision, position, ...parseTimedLabels(labels) };
    }),
  };
}

/** Reads the position up to which all changes of labels and actions can be read: before these are. */
export async function readSettledPosition(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ settled: number }>(
    'SELECT settled_label_position()::float8 AS settled',
  );
  return row?.settled ?? 0;
}

// Statement that reads the labels of devices.

type ReadLabelsRow = {
  readonly labels: string;
  readonly revision: number;
  readonly isRecorded: boolean;
};

/**
 * Returns the labels in the order of `devices`, in one consistent read. An unknown device has no labels, at
 * revision 0.
 */
export async function readLabels(
  sql: Sql,
  devices: readonly DeviceName[],
): Promise<readonly RecordedLabels[]> {
  if (devices.length === 0) return [];
  const rows = await sql.query<ReadLabelsRow>(
    `SELECT jsonb_build_array(
         coalesce(devices.labels, '{}'), coalesce(devices.label_times, '{}')
       )::text AS labels,
       coalesce(devices.labels_revision, 0) AS revision,
       devices.first_seen IS NOT NULL AS "isRecorded"
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked (app_id, device_id, place)
     LEFT JOIN devices USING (app_id, device_id) ORDER BY asked.place`,
    [
      devices.map(({ appId }) => storableText(appId)),
      devices.map(({ deviceId }) => storableText(deviceId)),
    ],
  );
  return devices.map(({ appId, deviceId }, index) => {
    const row = rows[index];
    if (row === undefined) throw new Error(`No row for device ${index} of ${devices.length}`);
    const { revision, isRecorded } = row;
    return { appId, deviceId, ...parseTimedLabels(row.labels), revision, isRecorded };
  });
}

// Conversion of labels to and from the text of a JSON object, the form in which they travel to and from the
// database. A driver that parsed the JSON itself would lose a key such as `__proto__`.

/**
 * Returns labels as text for the recording functions; null when there are none. A label with a time of its
 * own, because it was sent before the rest, becomes an array of value and time (milliseconds since 1970).
 */
export function labelsText(
  labels: Labels | undefined,
  times?: ReadonlyMap<string, number>,
): string | null {
  if (labels === undefined || labels.size === 0) return null;
  const entries = [...labels].map(([key, value]) => {
    const text = storableText(value);
    const sentAt = times?.get(key);
    return [storableText(key), sentAt === undefined ? text : [text, Math.trunc(sentAt)]];
  });
  return JSON.stringify(Object.fromEntries(entries));
}

/** Returns the labels in the order of their keys. */
export function parseLabels(text: string): Labels {
  return inOrder(JSON.parse(text));
}

/** Parses an array of two objects: labels, which are returned in the order of their keys, and their times. */
export function parseTimedLabels(text: string): TimedLabels {
  const [labels, times] = JSON.parse(text) as [Record<string, string>, Record<string, number>];
  return { labels: inOrder(labels), times: new Map(Object.entries(times)) };
}

function inOrder(labels: Readonly<Record<string, string>>): Labels {
  return new Map(Object.entries(labels).sort(([left], [right]) => (left < right ? -1 : 1)));
}
