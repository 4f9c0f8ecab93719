// Statement that inserts an account.

import type { Account } from '../../contract/resource.ts';
import type { NewAccount } from '../account-ledger.ts';
import type { Sql } from './database.ts';
import { newId } from './new-id.ts';

/**
 * Returns the new account, undefined when the email has one already. Waits for a transaction that is just
 * inserting the same email.
 */
export async function insertAccount(sql: Sql, account: NewAccount): Promise<Account | undefined> {
  const { email, name, passwordHash } = account;
  const id = newId('acc');
  const rows = await sql.query(
    `INSERT INTO accounts (id, email, name, password_hash) VALUES ($1, $2, $3, $4)
     ON CONFLICT (email) DO NOTHING RETURNING id`,
    [id, email, name, passwordHash],
  );
  return rows.length === 0 ? undefined : { id, email, name };
}
