// Statements that read which labels changed, in the order of the changes: nodes poll them to find changes
// that they missed.

import type { LabelChanges } from '../fleet-ledger.ts';
import type { Sql } from './database.ts';
import { parseLabels } from './labels-text.ts';

type Row = { readonly epoch: number; readonly newest: number; readonly changes: string };

/** Fields of one change: app id, device id, revision, position, and the labels as the text of an object. */
type Change = [string, string, number, number, string];

/**
 * Returns the changes after a position in one consistent read, up to the one after which none can come any
 * more: writers of several parts of the fleet commit side by side, in another order than that of the
 * positions. A device is there once, with its latest change; an index has only the devices whose labels
 * changed. Positions fit into a double for longer than any fleet can change.
 */
export async function readLabelChanges(
  sql: Sql,
  after: number | undefined,
  limit: number,
): Promise<LabelChanges> {
  const [bound] = await sql.query<{ settled: number }>(
    'SELECT settled_label_position()::float8 AS settled',
  );
  const rows = await sql.query<Row>(
    `SELECT present_epoch() AS epoch,
       coalesce((
         SELECT max(labels_position) FROM devices WHERE labels_position <= $3::bigint
       ), 0)::float8 AS newest,
       coalesce((
         SELECT json_agg(json_build_array(
           app_id, device_id, labels_revision, labels_position, labels::text
         ) ORDER BY labels_position)
         FROM (
           SELECT app_id, device_id, labels_revision, labels_position, labels FROM devices
           WHERE labels_position > $1::bigint AND labels_position <= $3::bigint
           ORDER BY labels_position LIMIT $2::integer
         ) AS changed
       ), '[]')::text AS changes`,
    [after ?? null, limit, bound?.settled ?? 0],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('The ledger did not tell its label changes');
  const changes = JSON.parse(row.changes) as readonly Change[];
  return {
    epoch: row.epoch,
    newest: row.newest,
    changed: changes.map(([appId, deviceId, revision, position, labels]) => {
      return { appId, deviceId, revision, position, labels: parseLabels(labels) };
    }),
  };
}
