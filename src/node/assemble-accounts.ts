// Assembly of the operations on accounts and on memberships of organizations.

import { Accounts } from '../access/accounts.ts';
import { argon2Hasher, Passwords } from '../access/passwords.ts';
import {
  FailedSignIns,
  KnownBrowsers,
  SignInGate,
  LoginThrottle,
  type ThrottleDependencies,
} from '../access/sign-in-limits.ts';
import { Members } from '../access/members.ts';
import { PasswordResets } from '../access/password-resets.ts';
import type { RareLog } from '../observe/rare-log.ts';
import { type Config, consoleUrlOf } from '../settings/settings.ts';
import type { Ledger } from '../store/ledger.ts';
import type { Secrets } from './secrets.ts';

/** Builds the account and member operations that the console's routes call. */
export function assembleAccounts(
  config: Config,
  secrets: Secrets,
  stores: ThrottleDependencies & { readonly ledger: Ledger; readonly log: RareLog },
) {
  const { ledger, metrics, log } = stores;
  const passwords = new Passwords(argon2Hasher);
  const throttle = new LoginThrottle(stores);
  const browsers = new KnownBrowsers(ledger);
  const failed = new FailedSignIns(ledger, log);
  const gate = new SignInGate({ ledger, passwords, throttle, browsers, failed, metrics });
  const shared = { ledger, passwords, throttle, browsers, gate, now: Date.now };
  const accounts = new Accounts({ ...shared, adminTokens: () => secrets.adminTokens });
  const members = new Members({ ...shared, accounts });
  const resets = new PasswordResets({ ...shared, accounts });
  const areOrganizationsOpen = config.organizationsBy === 'anyone';
  const consoleUrl = consoleUrlOf(config);
  const { trustProxy } = config;
  return { accounts, members, resets, consoleUrl, trustProxy, areOrganizationsOpen };
}
