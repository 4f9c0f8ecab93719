// The end of what the fleet's record no longer needs.

import type { Sql } from '../database.ts';

/**
 * One call of a function in the database, which is a transaction by itself: silent devices go together
 * with their versions and their part in the counts, or stay. It finds all of them only in a small fleet;
 * in a large one each call looks at a part.
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
  if (rows[0] === undefined) throw new Error('The sweep did not tell what it did');
  return rows[0];
}
