// Who people are: the first account, signing in and out, passwords. What they may do is `Access`.

import { type Failure, fail, invalidField, isFailure, type Outcome } from '../contract/failure.ts';
import { LIMIT } from '../contract/limit.ts';
import type { Account, Membership } from '../contract/resource.ts';
import type { StoredAccount } from '../ports/account-ledger.ts';
import type { Ledger } from '../ports/ledger.ts';
import { equalSecrets } from './api-key.ts';
import type { LoginThrottle } from './login-throttle.ts';
import type { Passwords } from './passwords.ts';
import { createSessionToken, tokenHash } from './session-token.ts';
import { Turnstile } from './turnstile.ts';

/** A session as found by its token. */
export type Session = {
  readonly account: Account;
  readonly tokenHash: string;
  readonly passwordHash: string;
};

/** A session that has just begun; the token is shown here only. */
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

/** Invented tokens cost a look-up each: these many at a time. */
const LOOKUPS_RUNNING_MAX = 4;
const LOOKUPS_WAITING_MAX = 1000;

export class Accounts {
  private readonly dependencies: AccountsDependencies;
  private readonly gate = new Turnstile(LOOKUPS_RUNNING_MAX, LOOKUPS_WAITING_MAX);

  constructor(dependencies: AccountsDependencies) {
    this.dependencies = dependencies;
  }

  /** Whether nobody has an account yet. */
  async awaitSetUp(): Promise<boolean> {
    return !(await this.dependencies.ledger.hasAccounts());
  }

  /** Whether it is the admin token; without one nothing is. */
  isAdminToken(presented: string): boolean {
    const { adminToken } = this.dependencies;
    return adminToken !== undefined && equalSecrets(presented, adminToken);
  }

  /** The session of a token that is neither expired nor idle for too long. */
  async find(token: string | undefined): Promise<Session | undefined> {
    const hash = tokenHash(token);
    const found = hash === undefined ? undefined : await this.lookUp(hash);
    if (hash === undefined || found === undefined) return undefined;
    const { passwordHash, ...account } = found;
    return { account, passwordHash, tokenHash: hash };
  }

  /** Whether a session that was found once still is one. */
  async isOpen({ tokenHash: hash }: Session): Promise<boolean> {
    return (await this.lookUp(hash)) !== undefined;
  }

  /** Undefined is the operator. */
  listMemberships(accountId: string | undefined): Promise<readonly Membership[]> {
    return this.dependencies.ledger.listMemberships(accountId);
  }

  /** Makes the first account and signs it in. 401 wrong admin token, 409 when there is an account, 429. */
  async setUp(request: SetUpRequest, address: string): Promise<Outcome<SignedIn>> {
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
   * Always a new session; the one that was presented ends. 401, which does not tell what was wrong, or 429.
   */
  async signIn(
    { email, password }: Credentials,
    address: string,
    presented: string | undefined,
  ): Promise<Outcome<SignedIn>> {
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
    return this.dependencies.ledger.endSessions(session.account.id, undefined);
  }

  /** Other sessions end. 400 when `current` is wrong, 429. */
  async changePassword(
    session: Session,
    current: string,
    next: string,
    address: string,
  ): Promise<Failure | undefined> {
    const { ledger, passwords, throttle } = this.dependencies;
    const { account, passwordHash } = session;
    const refusal = await throttle.admit(account.email, address);
    if (refusal !== undefined) return refusal;
    const wrong = invalidField('current', 'Wrong password');
    if (!(await passwords.verify(passwordHash, current))) return wrong;
    await throttle.succeed(account.email, address);
    const hash = await passwords.hash(next);
    const isChanged = await ledger.changePassword(
      account.id,
      passwordHash,
      hash,
      session.tokenHash,
    );
    return isChanged ? undefined : wrong;
  }

  /** Opens a session for somebody whose password was right a moment ago. 401 when it has changed since. */
  async begin({ passwordHash, ...account }: StoredAccount): Promise<Outcome<SignedIn>> {
    const { token, hash } = createSessionToken();
    const now = this.dependencies.now();
    const session = {
      tokenHash: hash,
      at: iso(now),
      expiresAt: iso(now + LIMIT.sessionLifetimeMs),
    };
    const isOpen = await this.dependencies.ledger.openSession(account.id, passwordHash, session);
    return isOpen ? { account, token } : fail('wrongLogin');
  }

  private lookUp(hash: string): Promise<StoredAccount | undefined> {
    const now = this.dependencies.now();
    const idleSince = iso(now - LIMIT.sessionIdleMs);
    return this.gate.pass(() => this.dependencies.ledger.findSession(hash, iso(now), idleSince));
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
