// What knows people: accounts, and who belongs to which organization.

import type { Config } from '../config.ts';
import { Accounts } from '../operations/accounts.ts';
import { LoginThrottle, type ThrottleDependencies } from '../operations/login-throttle.ts';
import { Members } from '../operations/members.ts';
import { Passwords } from '../operations/passwords.ts';
import { argon2Hasher } from '../password/argon2-hasher.ts';
import type { Ledger } from '../ports/ledger.ts';
import { generatedUnless } from './generated-unless.ts';

/** Puts together what the console's routes ask about people. */
export function assemblePeople(
  config: Config,
  stores: ThrottleDependencies & { readonly ledger: Ledger },
) {
  const { ledger } = stores;
  const passwords = new Passwords(argon2Hasher);
  const throttle = new LoginThrottle(stores);
  const shared = { ledger, passwords, throttle, now: Date.now };
  const adminToken = generatedUnless(config, config.adminToken, 'admin-token');
  const accounts = new Accounts({ ...shared, adminToken });
  const members = new Members({ ...shared, accounts });
  const { publicUrl, trustProxy } = config;
  return { accounts, members, publicUrl, trustProxy };
}
