// Statement that forgets how many new devices old minutes brought to the record.

import type { Sql } from './database.ts';

/**
 * Deletes at most `rowsMax` rows of minutes that no check-in counts in any more; returns how many it deleted.
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
