// Assembly of the operations on accounts and on memberships of organizations.

import { type Config, consoleUrlOf } from '../config.ts';
import { Accounts } from '../operations/access/accounts.ts';
import { LoginThrottle, type ThrottleDependencies } from '../operations/access/login-throttle.ts';
import { Members } from '../operations/access/members.ts';
import { Passwords } from '../operations/access/passwords.ts';
import { argon2Hasher } from '../password/argon2-hasher.ts';
import type { Ledger } from '../ports/ledger.ts';
import { generatedSecret } from './generated-secret.ts';

/** Builds the account and member operations that the console's routes call. */
export function assembleAccounts(
  config: Config,
  stores: ThrottleDependencies & { readonly ledger: Ledger },
) {
  const { ledger } = stores;
  const passwords = new Passwords(argon2Hasher);
  const throttle = new LoginThrottle(stores);
  const shared = { ledger, passwords, throttle, now: Date.now };
  const adminToken = generatedSecret(config, config.adminToken, 'admin-token');
  const accounts = new Accounts({ ...shared, adminToken });
  const members = new Members({ ...shared, accounts });
  const areOrganizationsOpen = config.organizationsBy === 'anyone';
  const consoleUrl = consoleUrlOf(config);
  return { accounts, members, consoleUrl, trustProxy: config.trustProxy, areOrganizationsOpen };
}
