// Runs statements on a database, on a connection of their own.

import pg from 'pg';

/** Returns the rows of the last statement. */
export async function runOn<Row = Record<string, unknown>>(
  url: string,
  statements: string,
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  // Tests end sessions and servers.
  client.on('error', () => undefined);
  await client.connect();
  try {
    const results = [await client.query(statements)].flat() as unknown as pg.QueryResult[];
    return (results.at(-1)?.rows ?? []) as Row[];
  } finally {
    await client.end();
  }
}
