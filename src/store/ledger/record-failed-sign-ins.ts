// Transaction that counts failed sign-ins of an account and tells the audit of them, at most once an hour.

import type { FailedSignIn } from '../account-ledger.ts';
import { atomically } from './atomically.ts';
import type { Database } from './database.ts';
import { insertAccountAudit } from './insert-account-audit.ts';

/** Number of failures since the last entry; null while another entry is not due. */
type Due = { readonly failures: number | null };

/**
 * The row's lock orders failures that several nodes record at once: one of them tells. The entry names the
 * address of the last failure. What is left to tell is in the entry of the next sign-in.
 */
export async function recordFailedSignIns(
  database: Database,
  { account, failures, address }: FailedSignIn,
): Promise<void> {
  await atomically(database, { kind: 'stranger' }, async (sql) => {
    await sql.query(
      `INSERT INTO failed_sign_ins (account_id, failures, told_at) VALUES ($1, 0, '-infinity')
       ON CONFLICT (account_id) DO NOTHING`,
      [account.id],
    );
    const [due] = await sql.query<Due>(
      `UPDATE failed_sign_ins SET failures = failures + $2 WHERE account_id = $1
       RETURNING CASE WHEN told_at <= clock_timestamp() - interval '1 hour' THEN failures::int END
         AS failures`,
      [account.id, failures],
    );
    if (due === undefined || due.failures === null) return undefined;
    await sql.query(
      'UPDATE failed_sign_ins SET failures = 0, told_at = clock_timestamp() WHERE account_id = $1',
      [account.id],
    );
    await insertAccountAudit(sql, account, 'account.fail-sign-in', {
      address,
      failures: due.failures,
    });
    return undefined;
  });
}
