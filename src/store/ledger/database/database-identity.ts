// Identity of a database: its server, the server's time line, and the database on it. A promotion or a
// point-in-time recovery begins a new time line; a restore into a new database has another object id.
// Identities have no order and can only be compared for equality.

import { Unavailable } from '../../../contract/store-fault.ts';
import { isRefusedRight, type Sql } from './database.ts';

/** Parts of the identity as SQL; a server may refuse some of them to an account. */
const CLUSTER = '(SELECT system_identifier::text FROM pg_control_system())';
const TIME_LINE = 'substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)';
const DATABASE = '(SELECT oid::text FROM pg_database WHERE datname = current_database())';

/**
 * Reads the identity on a connection, outside a transaction; leaves out parts that the account must not read.
 * Rejects with `Unavailable` on a standby, which refuses writes and may be behind.
 */
export async function readIdentity(sql: Sql): Promise<string> {
  const whole = await readParts(sql, [CLUSTER, TIME_LINE, DATABASE]);
  if (whole !== undefined) return whole;
  const parts: string[] = [];
  for (const part of [CLUSTER, TIME_LINE, DATABASE]) {
    parts.push((await readParts(sql, [part])) ?? '');
  }
  return parts.join('/');
}

/** Returns these parts, joined by slashes; undefined if the server refuses the query. */
async function readParts(sql: Sql, parts: readonly string[]): Promise<string | undefined> {
  const text = `SELECT CASE WHEN NOT pg_is_in_recovery() THEN concat_ws('/', ${parts.join(', ')}) END
    AS identity`;
  const rows = await readUnlessRefused(sql, text);
  if (rows?.[0]?.identity === null) {
    throw new Unavailable('ledger', new Error('the database is a standby'));
  }
  return rows?.[0]?.identity;
}

async function readUnlessRefused(sql: Sql, text: string) {
  try {
    return await sql.query<{ identity: string | null }>(text);
  } catch (error) {
    if (error instanceof Unavailable && !isRefusedRight(error)) throw error;
    return undefined;
  }
}
