// Statement that deletes version changes of devices that have newer ones enough.

import type { Sql } from './database.ts';

/**
 * Calls one function of the database, which is a transaction by itself: it looks at the next few version
 * changes, those of all devices in turn, and deletes at most `rowsMax`. Returns how many it deleted.
 */
export async function trimHistories(sql: Sql, history: number, rowsMax: number): Promise<number> {
  const rows = await sql.query<{ trimmed: number }>(
    'SELECT trim_device_versions($1::integer, $2::integer) AS trimmed',
    [history, rowsMax],
  );
  return rows[0]?.trimmed ?? 0;
}
