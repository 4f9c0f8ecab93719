// The first account of all.

import { fail, type Outcome } from '../../contract/failure.ts';
import type { Account, Organization } from '../../contract/resource.ts';
import type { NewAccount } from '../../ports/account-ledger.ts';
import { atomically } from '../atomically.ts';
import type { Database, Sql } from '../database.ts';
import { hasAccounts } from './has-accounts.ts';
import { insertAccount } from './insert-account.ts';
import { insertAudit } from './insert-audit.ts';
import { insertOrganization } from './insert-organization.ts';

/**
 * One transaction under a lock on the table: of several at once one finds it empty, whoever else wants to
 * write there. Whoever does this holds the admin token, which may do everything in every organization
 * already.
 */
export function createFirstAccount(
  database: Database,
  newAccount: NewAccount,
  organizationName: string,
): Promise<Outcome<Account>> {
  return atomically(database, async (sql) => {
    await sql.query('LOCK TABLE accounts IN SHARE ROW EXCLUSIVE MODE');
    if (await hasAccounts(sql)) return fail('alreadySetUp');
    const account = await insertAccount(sql, newAccount);
    if (account === undefined) return fail('alreadySetUp');
    const actor = { kind: 'account', name: account.email } as const;
    await insertOrganization(sql, organizationName, actor);
    const organizations = await sql.query<Organization>('SELECT id, name FROM organizations');
    for (const { id } of organizations) await makeOwner(sql, id, account);
    return account;
  });
}

async function makeOwner(sql: Sql, organizationId: string, account: Account): Promise<void> {
  await sql.query(
    `INSERT INTO memberships (organization_id, account_id, role) VALUES ($1, $2, 'owner')`,
    [organizationId, account.id],
  );
  await insertAudit(sql, {
    organizationId,
    actor: { kind: 'account', name: account.email },
    action: 'member.join',
    subject: account.email,
    before: null,
    after: { role: 'owner' },
  });
}
