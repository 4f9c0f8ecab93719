// Runs one statement on a database, on a connection of its own.

import pg from 'pg';

/** Returns the rows of the statement's result. */
export async function runOn<Row>(url: string, statement: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(statement)).rows as Row[];
  } finally {
    await client.end();
  }
}
