// Transaction that creates the first account of the service.

import { fail, type Outcome } from '../../contract/failure.ts';
import type { Account, Organization } from '../../contract/resource.ts';
import type { NewAccount } from '../account-ledger.ts';
import { atomically } from './atomically.ts';
import type { Database } from './database.ts';
import { hasAccounts } from './find-account.ts';
import { insertAccount } from './insert-account.ts';
import { insertMembership } from './insert-membership.ts';
import { insertOrganization } from './insert-organization.ts';

/**
 * Creates the account as owner of a new organization and of all existing ones, in one transaction. It locks
 * the table of accounts against writers, so only one of several transactions finds the table empty. The
 * caller holds the admin token, which already has every right in every organization.
 */
export function createFirstAccount(
  database: Database,
  newAccount: NewAccount,
  organizationName: string,
): Promise<Outcome<Account, 'alreadySetUp'>> {
  return atomically(database, { kind: 'token', email: newAccount.email }, async (sql) => {
    await sql.query('LOCK TABLE accounts IN SHARE ROW EXCLUSIVE MODE');
    if (await hasAccounts(sql)) return fail('alreadySetUp');
    const account = await insertAccount(sql, newAccount);
    if (account === undefined) return fail('alreadySetUp');
    await insertOrganization(sql, organizationName);
    const organizations = await sql.query<Organization>('SELECT id, name FROM organizations');
    for (const { id } of organizations) await insertMembership(sql, id, account, 'owner');
    return account;
  });
}
