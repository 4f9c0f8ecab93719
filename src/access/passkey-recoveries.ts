// Links that remove the passkeys of an account whose person has lost them: made by an owner of one of its
// organizations, or by the operator; valid once and for a day. A link opens nothing by itself: its holder
// shows the account's password, too.

import { fail, invalidField, isFailure, type Outcome } from '../contract/failure.ts';
import { LIMIT } from '../contract/limit.ts';
import { isoTime } from '../contract/text.ts';
import type { RecoveredAccount } from '../store/account-ledger.ts';
import type { NewMail } from '../store/delivery-ledger.ts';
import type { Ledger } from '../store/ledger.ts';
import type { Actor } from '../store/ledger-terms.ts';
import {
  type Accounts,
  type AwaitsPasskey,
  createSessionToken,
  type SignedIn,
} from './accounts.ts';
import { LinkLookup } from './link-lookup.ts';
import type { Client, LoginThrottle, SignInGate } from './sign-in-limits.ts';

type PasskeyRecoveriesDependencies = {
  readonly ledger: Ledger;
  readonly accounts: Accounts;
  readonly throttle: LoginThrottle;
  readonly gate: SignInGate;
  /** Whether passwords let in. */
  readonly arePasswordsOn: boolean;
  /** Returns the mail that tells the account's person that a link was made or used. */
  readonly mail: (email: string, deed: 'made' | 'used', atMs: number) => NewMail | undefined;
  readonly now: () => number;
};

export class PasskeyRecoveries {
  private readonly dependencies: PasskeyRecoveriesDependencies;
  private readonly lookup: LinkLookup<{ readonly email: string }, 'unknownReset'>;

  constructor(dependencies: PasskeyRecoveriesDependencies) {
    this.dependencies = dependencies;
    const { ledger } = dependencies;
    this.lookup = new LinkLookup(
      (hash, at) => ledger.findRecovery(hash, at),
      'unknownReset',
      dependencies,
    );
  }

  /**
   * Creates a link for an account; one of an organization's owner counts in the limit of its links. Only this
   * answer has the token.
   */
  async create(
    of: RecoveredAccount,
    actor: Actor,
  ): Promise<Outcome<{ readonly token: string; readonly expiresAt: string }>> {
    const { ledger, throttle, mail, now } = this.dependencies;
    const limited = 'email' in of ? undefined : await throttle.admitLink(of.organizationId);
    if (limited !== undefined) return limited;
    const { token, hash } = createSessionToken();
    const at = now();
    const expiresAt = isoTime(at + LIMIT.recoveryLifetimeMs);
    const mailTo = (email: string) => mail(email, 'made', at);
    const recovery = { tokenHash: hash, at: isoTime(at), expiresAt, mailTo };
    const created = await ledger.createRecovery(of, recovery, actor);
    return isFailure(created) ? created : { token, expiresAt };
  }

  /**
   * Returns the email address of a link's account while the link can be used. Only invalid tokens count as
   * tries of an IP address.
   */
  read(
    token: string,
    address: string,
  ): Promise<Outcome<{ readonly email: string; readonly hash: string }>> {
    return this.lookup.read(token, address);
  }

  /** Removes the passkeys, ends every session of the account, and signs in by the password alone. */
  async use(
    request: { readonly token: string; readonly password: string },
    client: Client,
  ): Promise<Outcome<SignedIn | AwaitsPasskey>> {
    const { ledger, accounts, gate, arePasswordsOn, mail, now } = this.dependencies;
    if (!arePasswordsOn) return fail('passwordsOff');
    const link = await this.read(request.token, client.address);
    if (isFailure(link)) return link;
    const tried = await gate.try(link.email, request.password, { ...client, hasLink: true });
    if (isFailure(tried)) return tried;
    const { account, isRight } = tried;
    const passwordHash = account?.passwordHash ?? undefined;
    if (!isRight || account === undefined || passwordHash === undefined) {
      return invalidField('password', 'Wrong password');
    }
    const at = now();
    const told = mail(account.email, 'used', at);
    const used = await ledger.useRecovery(account, link.hash, isoTime(at), told);
    if (isFailure(used)) return used;
    return accounts.begin({ ...account, passwordHash }, client);
  }
}
