// An account as signing in needs it.

import type { StoredAccount } from '../../ports/account-ledger.ts';
import type { Sql } from '../database.ts';
import { isStorable } from './is-storable.ts';

/** One read, by the email in lower case. */
export async function findAccount(sql: Sql, email: string): Promise<StoredAccount | undefined> {
  if (!isStorable(email)) return undefined;
  const rows = await sql.query<StoredAccount>(
    'SELECT id, email, name, password_hash AS "passwordHash" FROM accounts WHERE email = $1',
    [email],
  );
  return rows[0];
}
