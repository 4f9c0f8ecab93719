// Runs a statement that writes thousands of rows to prepare a test.

import type { Database } from '../../src/store/ledger/database/database.ts';

const ANSWER_TIMEOUT_MS = 120_000;

/**
 * Runs `text` without the database's limit of 4.5 s for a statement. The limit is for what a request asks; a
 * busy machine takes longer over 45,000 rows.
 */
export async function writeInBulk(
  database: Database,
  text: string,
  values: readonly unknown[] = [],
): Promise<void> {
  await database.transaction(async (sql) => {
    await sql.query('SET LOCAL statement_timeout = 0');
    await sql.query(text, values, ANSWER_TIMEOUT_MS);
  });
}
