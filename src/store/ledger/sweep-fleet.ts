// Statement that deletes silent devices and old hours from the fleet's tables.

import type { Sql } from './database.ts';

/**
 * Calls one function of the database, which is a transaction by itself: it deletes silent devices together
 * with their versions and their part in the counts, or none of them. It finds all silent devices only in a
 * small table; in a large one each call searches a part. Another one, after it, deletes what is kept of the
 * signals of releases that are not watched any more.
 */
export async function sweepFleet(
  sql: Sql,
  devicesBefore: string,
  hoursBefore: string,
  rowsMax: number,
): Promise<{ readonly devices: number; readonly hours: number }> {
  const rows = await sql.query<{ devices: number; hours: number }>(
    `SELECT devices_gone AS devices, hours_gone AS hours
     FROM sweep_fleet($1::timestamptz, $2::timestamptz, $3::integer)`,
    [devicesBefore, hoursBefore, rowsMax],
  );
  await sql.query('SELECT sweep_signals($1::integer)', [rowsMax]);
  if (rows[0] === undefined) throw new Error('The sweep did not tell what it did');
  return rows[0];
}
