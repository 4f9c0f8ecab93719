// Identity of a database: which server it is on, on which time line of its, and which of its databases it is.
// A promotion and a recovery to a point in time begin a new time line; a database that was restored into a
// new one has another object id. Two identities can only be compared for being the same: they have no order.

import { Unavailable } from '../../contract/unavailable.ts';
import type { Sql } from './database.ts';

/** Parts of the identity as SQL. Some accounts and services refuse some of them. */
const CLUSTER = '(SELECT system_identifier::text FROM pg_control_system())';
const TIME_LINE = 'substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)';
const DATABASE = '(SELECT oid::text FROM pg_database WHERE datname = current_database())';

/**
 * Reads the identity on a connection, outside of a transaction. Rejects with `Unavailable` on a standby,
 * which refuses writes and may be behind. Parts that this account must not read are left out.
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

/** Returns undefined when the server refuses to tell. */
async function readParts(sql: Sql, parts: readonly string[]): Promise<string | undefined> {
  const text = `SELECT CASE WHEN NOT pg_is_in_recovery() THEN concat_ws('/', ${parts.join(', ')}) END
    AS identity`;
  const rows = await readUnlessRefused(sql, text);
  if (rows?.[0]?.identity === null) {
    throw new Unavailable('ledger', 'the database is a standby, which refuses writes');
  }
  return rows?.[0]?.identity;
}

async function readUnlessRefused(sql: Sql, text: string) {
  try {
    return await sql.query<{ identity: string | null }>(text);
  } catch (error) {
    if (error instanceof Unavailable) throw error;
    return undefined;
  }
}
