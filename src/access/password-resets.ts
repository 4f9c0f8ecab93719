// Links that set a new password of an account: created by the operator for a person who forgot the old one,
// valid once and for an hour.

import { fail, isFailure, type Outcome } from '../contract/failure.ts';
import { LIMIT } from '../contract/limit.ts';
import { isoTime } from '../contract/text.ts';
import type { Ledger } from '../store/ledger.ts';
import type { Actor } from '../store/ledger-terms.ts';
import {
  type Accounts,
  type AwaitsPasskey,
  createSessionToken,
  type LinkMail,
  type SignedIn,
} from './accounts.ts';
import { LinkLookup } from './link-lookup.ts';
import type { Passwords } from './passwords.ts';
import type { Client, LoginThrottle } from './sign-in-limits.ts';

export type PasswordResetsDependencies = {
  readonly ledger: Ledger;
  readonly accounts: Accounts;
  readonly passwords: Passwords;
  readonly throttle: LoginThrottle;
  readonly now: () => number;
};

export class PasswordResets {
  private readonly dependencies: PasswordResetsDependencies;
  private readonly lookup: LinkLookup<{ readonly email: string }, 'unknownReset'>;

  constructor(dependencies: PasswordResetsDependencies) {
    this.dependencies = dependencies;
    const { ledger } = dependencies;
    this.lookup = new LinkLookup(
      (hash, at) => ledger.findPasswordReset(hash, at),
      'unknownReset',
      dependencies,
    );
  }

  /** Creates a link for the account of an email address. Only this answer has the token. */
  async create(
    email: string,
    actor: Actor,
    linkMail: LinkMail,
  ): Promise<Outcome<{ readonly token: string; readonly expiresAt: string }>> {
    const { ledger, now } = this.dependencies;
    if (actor.kind !== 'admin-token') return fail('forbidden');
    const { token, hash } = createSessionToken();
    const at = now();
    const expiresAt = isoTime(at + LIMIT.passwordResetLifetimeMs);
    const mail = linkMail(token, expiresAt);
    const reset = { email, tokenHash: hash, at: isoTime(at), expiresAt, mail };
    const created = await ledger.createPasswordReset(reset, actor);
    return isFailure(created) ? created : { token, expiresAt };
  }

  /**
   * Returns the email address of a link's account while the link can be used. Only invalid tokens count as
   * tries of an IP address, so that others cannot lock out the holder of a link.
   */
  read(
    token: string,
    address: string,
  ): Promise<Outcome<{ readonly email: string; readonly hash: string }>> {
    return this.lookup.read(token, address);
  }

  /** Sets the password, ends every session of the account, and signs in. */
  async use(
    request: { readonly token: string; readonly password: string },
    client: Client,
  ): Promise<Outcome<SignedIn | AwaitsPasskey>> {
    const { ledger, accounts, passwords, now } = this.dependencies;
    const reset = await this.read(request.token, client.address);
    if (isFailure(reset)) return reset;
    const passwordHash = await passwords.hash(request.password, true);
    const account = await ledger.usePasswordReset(reset.hash, passwordHash, isoTime(now()));
    return isFailure(account) ? account : accounts.begin({ ...account, passwordHash }, client);
  }
}
