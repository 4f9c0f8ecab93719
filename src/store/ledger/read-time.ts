// Statement that reads the clock of the database.

import type { Sql } from './database.ts';

/** Returns the database's present time in milliseconds since 1970. */
export async function readTime(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ ms: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
  );
  if (row === undefined) throw new Error('The database did not tell its time');
  return row.ms;
}
