// Accounts: creating the first one, signing in and out, and changing passwords. `Access` decides what an
// account may do.

import {
  type Failure,
  fail,
  invalidField,
  isFailure,
  type LostRight,
  type Outcome,
} from '../../contract/failure.ts';
import { isoTime } from '../../contract/iso-time.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { Account, Membership } from '../../contract/resource.ts';
import { ConcurrencyLimit } from '../../flow/concurrency-limit.ts';
import type { StoredAccount } from '../../ports/account-ledger.ts';
import type { Ledger } from '../../ports/ledger.ts';
import { equalSecrets } from './api-key.ts';
import type { LoginThrottle } from './login-throttle.ts';
import type { Passwords } from './passwords.ts';
import { type Session, sessionActor } from './session.ts';
import { createSessionToken, tokenHash } from './session-token.ts';

/** New session; its token is not readable anywhere else. */
export type SignedIn = { readonly account: Account; readonly token: string };

export type Credentials = { readonly email: string; readonly password: string };

export type SetUpRequest = Credentials & {
  readonly token: string;
  readonly name: string;
  readonly organization: string;
};

export type AccountsDependencies = {
  readonly ledger: Ledger;
  readonly passwords: Passwords;
  readonly throttle: LoginThrottle;
  readonly adminToken: string | undefined;
  readonly now: () => number;
};

/** Maximum number of concurrent session look-ups, because every invented token costs one. */
const LOOKUPS_RUNNING_MAX = 4;
const LOOKUPS_WAITING_MAX = 1000;

export class Accounts {
  private readonly dependencies: AccountsDependencies;
  private readonly gate = new ConcurrencyLimit(LOOKUPS_RUNNING_MAX, LOOKUPS_WAITING_MAX);

  constructor(dependencies: AccountsDependencies) {
    this.dependencies = dependencies;
  }

  /** Returns whether there is no account yet. */
  async awaitSetUp(): Promise<boolean> {
    return !(await this.dependencies.ledger.hasAccounts());
  }

  /** Returns whether a token is the admin token; always false when none is configured. */
  isAdminToken(presented: string): boolean {
    const { adminToken } = this.dependencies;
    return adminToken !== undefined && equalSecrets(presented, adminToken);
  }

  /** Finds the session of a token, unless it is expired or was unused for too long. */
  async find(token: string | undefined): Promise<Session | undefined> {
    const hash = tokenHash(token);
    const found = hash === undefined ? undefined : await this.lookUp(hash);
    if (hash === undefined || found === undefined) return undefined;
    const { passwordHash, ...account } = found;
    return { account, passwordHash, tokenHash: hash };
  }

  /** Returns whether a session that was found before still exists. */
  async isOpen({ tokenHash: hash }: Session): Promise<boolean> {
    return (await this.lookUp(hash)) !== undefined;
  }

  /** Lists the memberships of an account; undefined is the operator. */
  listMemberships(accountId: string | undefined): Promise<readonly Membership[]> {
    return this.dependencies.ledger.listMemberships(accountId);
  }

  /** Creates the first account, for the holder of the admin token, and signs it in. */
  async setUp(
    request: SetUpRequest,
    address: string,
  ): Promise<
    Outcome<SignedIn, 'rateLimited' | 'adminUnauthorized' | 'alreadySetUp' | 'wrongLogin'>
  > {
    const { ledger, passwords, throttle } = this.dependencies;
    const refusal = await throttle.admitAddress(address);
    if (refusal !== undefined) return refusal;
    if (!this.isAdminToken(request.token)) return fail('adminUnauthorized');
    if (await ledger.hasAccounts()) return fail('alreadySetUp');
    const { email, name, password, organization } = request;
    const passwordHash = await passwords.hash(password);
    const account = await ledger.createFirstAccount({ email, name, passwordHash }, organization);
    return isFailure(account) ? account : this.begin({ ...account, passwordHash });
  }

  /**
   * Begins a new session; the one that was presented ends. `wrongLogin` does not tell what was wrong.
   */
  async signIn(
    { email, password }: Credentials,
    address: string,
    presented: string | undefined,
  ): Promise<Outcome<SignedIn, 'rateLimited' | 'wrongLogin'>> {
    const { ledger, passwords, throttle } = this.dependencies;
    const refusal = await throttle.admit(email, address);
    if (refusal !== undefined) return refusal;
    const account = await ledger.findAccount(email);
    const isRight = await passwords.verify(account?.passwordHash, password);
    if (!isRight || account === undefined) return fail('wrongLogin');
    await throttle.succeed(email, address);
    const former = tokenHash(presented);
    if (former !== undefined) await ledger.endSession(former);
    return this.begin(account);
  }

  signOut(session: Session): Promise<void> {
    return this.dependencies.ledger.endSession(session.tokenHash);
  }

  signOutEverywhere(session: Session): Promise<void> {
    return this.dependencies.ledger.endSessions(session.account.id);
  }

  /** Replaces the password if `current` is right; all other sessions of the account end. */
  async changePassword(
    session: Session,
    current: string,
    next: string,
    address: string,
  ): Promise<Failure<'rateLimited' | 'invalid' | LostRight> | undefined> {
    const { ledger, passwords, throttle } = this.dependencies;
    const { account, passwordHash } = session;
    const refusal = await throttle.admit(account.email, address);
    if (refusal !== undefined) return refusal;
    const wrong = invalidField('current', 'Wrong password');
    if (!(await passwords.verify(passwordHash, current))) return wrong;
    await throttle.succeed(account.email, address);
    const hash = await passwords.hash(next);
    const isChanged = await ledger.changePassword(passwordHash, hash, sessionActor(session));
    if (isFailure(isChanged)) return isChanged;
    return isChanged ? undefined : wrong;
  }

  /** Opens a session for an account whose password was right a moment ago, unless it has changed since. */
  async begin({
    passwordHash,
    ...account
  }: StoredAccount): Promise<Outcome<SignedIn, 'wrongLogin'>> {
    const { token, hash } = createSessionToken();
    const now = this.dependencies.now();
    const session = {
      tokenHash: hash,
      at: isoTime(now),
      expiresAt: isoTime(now + LIMIT.sessionLifetimeMs),
    };
    const isOpen = await this.dependencies.ledger.openSession(account.id, passwordHash, session);
    return isOpen ? { account, token } : fail('wrongLogin');
  }

  private lookUp(hash: string): Promise<StoredAccount | undefined> {
    const now = this.dependencies.now();
    const idleSince = isoTime(now - LIMIT.sessionIdleMs);
    return this.gate.pass(() =>
      this.dependencies.ledger.findSession(hash, isoTime(now), idleSince),
    );
  }
}
