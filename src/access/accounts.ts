// Accounts and sessions: creates the first account, signs people in and out, changes passwords, and makes and
// checks session tokens. `Access` decides what an account may do.

import type { NoContent } from '../contract/console.ts';
import { fail, invalidField, isFailure, type Outcome } from '../contract/failure.ts';
import { LIMIT } from '../contract/limit.ts';
import type {
  Account,
  ListedSession,
  Membership,
  Organization,
  SessionOpener,
} from '../contract/resource.ts';
import { isoTime } from '../contract/text.ts';
import { ConcurrencyLimit } from '../flow/concurrency-limit.ts';
import type {
  Entered,
  ShownPasskey,
  StoredAccount,
  StoredSession,
} from '../store/account-ledger.ts';
import type { NewMail } from '../store/delivery-ledger.ts';
import type { Ledger } from '../store/ledger.ts';
import type { AccountActor, NeededRole } from '../store/ledger-terms.ts';
import { equalSecrets } from './api-keys.ts';
import { browserName } from './browser-name.ts';
import type { OneTimeLinks } from './one-time-links.ts';
import type { Passwords } from './passwords.ts';
import type { Client, KnownBrowsers, LoginThrottle, SignInGate } from './sign-in-limits.ts';
import { createToken, tokenHash } from './token.ts';

/** New session. Only this value has its token: the ledger stores the hash alone. */
export type SignedIn = {
  readonly account: Account;
  readonly hasPassword: boolean;
  readonly token: string;
  /** Cookie that identifies the browser from then on. */
  readonly browser: string;
  /** Whether the session satisfies an organization that demands a second factor. */
  readonly isStrong: boolean;
};

/** Account whose password was right, and whose owner must show a passkey as well. */
export type AwaitsPasskey = {
  readonly awaits: { readonly id: string; readonly passwordHash: string };
};

/** How a session is opened. `isNew`: the account belongs to this person only since this request. */
type Opened = {
  readonly openedBy: SessionOpener;
  readonly secondFactor: boolean;
  readonly isNew: boolean;
};

type Credentials = { readonly email: string; readonly password: string };

type SetUpRequest = Credentials & {
  readonly token: string;
  readonly name: string;
  readonly organization: string;
};

type AccountsDependencies = {
  readonly ledger: Ledger;
  readonly passwords: Passwords;
  readonly links: OneTimeLinks;
  readonly throttle: LoginThrottle;
  readonly browsers: KnownBrowsers;
  readonly gate: SignInGate;
  /** Returns the admin tokens that are accepted now. */
  readonly adminTokens: () => readonly string[];
  /** Whether people can sign in with passwords. The first account and the operator's link always can. */
  readonly arePasswordsOn: boolean;
  /** Returns the mail about a sign-in from a browser that is new to the account, if mails are sent. */
  readonly newBrowserMail: (email: string, address: string, atMs: number) => NewMail | undefined;
  readonly now: () => number;
};

/** Maximum number of concurrent session look-ups, because every forged token costs one. */
const LOOKUPS_RUNNING_MAX = 4;
const LOOKUPS_WAITING_MAX = 1000;

export class Accounts {
  private readonly gate = new ConcurrencyLimit(LOOKUPS_RUNNING_MAX, LOOKUPS_WAITING_MAX);

  constructor(private readonly dependencies: AccountsDependencies) {}

  /** Returns whether there is no account with an organization yet. */
  async awaitSetUp(): Promise<boolean> {
    return !(await this.dependencies.ledger.isSetUp());
  }

  /** Returns whether a token is an admin token; always false if none is configured. */
  isAdminToken(presented: string): boolean {
    // Compares with all of them, so that the time does not reveal which one matches.
    const matches = this.dependencies
      .adminTokens()
      .filter((token) => equalSecrets(presented, token));
    return matches.length > 0;
  }

  /** Finds the session of a token, unless it expired or was unused for too long. */
  async find(token: string | undefined): Promise<Session | undefined> {
    const hash = tokenHash(token);
    const found = hash === undefined ? undefined : await this.lookUp(hash);
    if (hash === undefined || found === undefined) return undefined;
    const { passwordHash, isStrong } = found;
    const hasPassword = passwordHash !== null;
    return { account: describe(found), passwordHash, hasPassword, tokenHash: hash, isStrong };
  }

  /** Returns whether a session that was found before still exists. */
  async isOpen({ tokenHash: hash }: Session): Promise<boolean> {
    return (await this.lookUp(hash)) !== undefined;
  }

  /** Lists the memberships of an account; undefined is the operator. */
  listMemberships(accountId: string | undefined): Promise<readonly Membership[]> {
    return this.dependencies.ledger.listMemberships(accountId);
  }

  /** Creates the first account for the holder of the admin token, and signs it in. */
  async setUp(request: SetUpRequest, client: Client): Promise<Outcome<SignedIn | AwaitsPasskey>> {
    const { ledger, passwords, throttle } = this.dependencies;
    const refusal = await throttle.admitAddress(client.address);
    if (refusal !== undefined) return refusal;
    if (!this.isAdminToken(request.token)) return fail('adminUnauthorized');
    if (await ledger.isSetUp()) return fail('alreadySetUp');
    const { email, name, password, organization } = request;
    const passwordHash = await passwords.hash(password, true);
    const account = await ledger.createFirstAccount({ email, name, passwordHash }, organization);
    return isFailure(account) ? account : this.begin({ ...account, passwordHash }, client, true);
  }

  /**
   * Creates the first organization for the holder of the admin token, owned by the account of the session. A
   * wrong token is not answered with 401, which would mean that the session is invalid.
   */
  async setUpAs(
    session: Session,
    { token, organization }: Pick<SetUpRequest, 'token' | 'organization'>,
    { address }: Client,
  ): Promise<Outcome<Organization>> {
    const { ledger, throttle } = this.dependencies;
    const refusal = await throttle.admitAddress(address);
    if (refusal !== undefined) return refusal;
    if (!this.isAdminToken(token)) return invalidField('token', 'Not the admin token');
    const created = await ledger.createFirstOrganization(organization, sessionActor(session));
    if (!isFailure(created) || created.failure !== 'alreadySetUp') return created;
    return fail('alreadySetUp', 'The service is set up already: ask an owner for an invitation');
  }

  /** Begins a new session and ends the presented one. `wrongLogin` does not reveal what was wrong. */
  async signIn(
    { email, password }: Credentials,
    client: Client,
    presented: string | undefined,
  ): Promise<Outcome<SignedIn | AwaitsPasskey>> {
    const { ledger, gate, arePasswordsOn } = this.dependencies;
    if (!arePasswordsOn) return fail('passwordsOff');
    const tried = await gate.try(email, password, client);
    if (isFailure(tried)) return tried;
    const { account, isRight } = tried;
    const passwordHash = account?.passwordHash ?? undefined;
    if (!isRight || account === undefined || passwordHash === undefined) return fail('wrongLogin');
    const former = tokenHash(presented);
    if (former !== undefined) await ledger.endSession(former);
    return this.begin({ ...account, passwordHash }, client);
  }

  signOut(session: Session): Promise<void> {
    return this.dependencies.ledger.endSession(session.tokenHash);
  }

  signOutEverywhere(session: Session): Promise<void> {
    return this.dependencies.ledger.endSessions(session.account.id);
  }

  /**
   * Replaces the password if `current` is right; ends all other sessions of the account. Returns the
   * browser's new cookie, because the change invalidates those issued before.
   */
  async changePassword(
    session: Session,
    current: string,
    next: string,
  ): Promise<Outcome<Pick<SignedIn, 'browser'>>> {
    const { ledger, passwords, throttle, browsers, arePasswordsOn } = this.dependencies;
    if (!arePasswordsOn) return fail('passwordsOff');
    const { account, passwordHash } = session;
    const refusal = await throttle.admitKnown(session.tokenHash);
    if (refusal !== undefined) return refusal;
    const wrong = invalidField('current', 'Wrong password');
    if (passwordHash === null) return invalidField('current', 'This account has no password');
    if (!(await passwords.verify(passwordHash, current, true))) return wrong;
    await throttle.succeedKnown(session.tokenHash);
    const hash = await passwords.hash(next, true);
    const changed = await ledger.changePassword(passwordHash, hash, sessionActor(session));
    if (isFailure(changed)) return changed;
    if (changed === undefined) return wrong;
    return { browser: await browsers.issue(account.email, changed) };
  }

  /** Sets the password with a link, ends every session of the account, and signs in. */
  async resetPassword(
    request: { readonly token: string; readonly password: string },
    client: Client,
  ): Promise<Outcome<SignedIn | AwaitsPasskey>> {
    const { ledger, links, passwords, now } = this.dependencies;
    const link = await links.read('reset', request.token, client.address);
    if (isFailure(link)) return link;
    const passwordHash = await passwords.hash(request.password, true);
    const account = await ledger.usePasswordReset(link.hash, passwordHash, isoTime(now()));
    return isFailure(account) ? account : this.begin({ ...account, passwordHash }, client);
  }

  /**
   * Opens a session for an account whose password was just verified, unless the password has changed since.
   * For an account with passkeys it opens none, and returns that the passkey is still to be shown.
   */
  async begin(
    account: Account & { readonly passwordHash: string },
    client: Client,
    isNew = false,
  ): Promise<Outcome<SignedIn | AwaitsPasskey>> {
    const { id, passwordHash } = account;
    const how = { openedBy: 'password', secondFactor: false, isNew } as const;
    const begun = await this.newSession(account, client, how);
    const opened = await this.dependencies.ledger.openSession(account, begun.session);
    if (!isFailure(opened)) return this.signedIn(account, begun, opened);
    return opened.failure === 'wrongLogin' ? fail('wrongLogin') : { awaits: { id, passwordHash } };
  }

  /**
   * Opens a session for an account that a provider has just identified; such an account needs no passkey,
   * even if it has some. `wrongLogin`: the identity no longer belongs to the account.
   */
  async beginByProvider(
    { account, identity, isNew }: Pick<Entered, 'account' | 'identity' | 'isNew'>,
    client: Client,
  ): Promise<Outcome<SignedIn>> {
    const { id, email } = account;
    const how = { openedBy: 'oidc', secondFactor: false, isNew } as const;
    const begun = await this.newSession(account, client, how);
    const opening = { id, email, identity };
    const opened = await this.dependencies.ledger.openSession(opening, begun.session);
    if (isFailure(opened)) return fail('wrongLogin');
    return this.signedIn(account, begun, opened);
  }

  /** Opens a session for an account whose passkey gave a right answer. */
  async beginByPasskey(
    account: StoredAccount,
    shown: ShownPasskey,
    client: Client,
    openedBy: SessionOpener,
  ): Promise<Outcome<SignedIn>> {
    const { ledger } = this.dependencies;
    const how = { openedBy, secondFactor: true, isNew: false };
    const begun = await this.newSession(account, client, how);
    const opened = await ledger.openSessionByPasskey(account, shown, begun.session);
    if (isFailure(opened)) return opened;
    return this.signedIn(account, begun, opened);
  }

  /** Makes the data of a session, with a mail to the person if the browser is new to the account. */
  private async newSession(
    { email }: Account,
    { address, agent, browser }: Client,
    { openedBy, secondFactor, isNew }: Opened,
  ) {
    const { browsers, newBrowserMail } = this.dependencies;
    const { token, hash } = createToken();
    const now = this.dependencies.now();
    const isKnown = isNew || (await browsers.recognise(browser, email)) !== undefined;
    const session = {
      tokenHash: hash,
      at: isoTime(now),
      expiresAt: isoTime(now + LIMIT.sessionLifetimeMs),
      address,
      browser: browserName(agent),
      openedBy,
      secondFactor,
      mail: isKnown ? undefined : newBrowserMail(email, address, now),
    };
    return { token, session };
  }

  /** Returns what the browser gets for a new session. */
  private async signedIn(
    account: Account & { readonly passwordHash: string | null },
    { token, session }: Awaited<ReturnType<Accounts['newSession']>>,
    passwordNumber: number,
  ): Promise<SignedIn> {
    const browser = await this.dependencies.browsers.issue(account.email, passwordNumber);
    const isStrong = session.openedBy !== 'password' || session.secondFactor;
    const hasPassword = account.passwordHash !== null;
    return { account: describe(account), hasPassword, token, browser, isStrong };
  }

  /** Lists the open sessions of the session's account. */
  listSessions({ account, tokenHash: hash }: Session): Promise<readonly ListedSession[]> {
    const now = this.dependencies.now();
    const idleSince = isoTime(now - LIMIT.sessionIdleMs);
    const actor = { accountId: account.id, tokenHash: hash };
    return this.dependencies.ledger.listSessions(actor, isoTime(now), idleSince);
  }

  /** Ends a session of the session's account by its id. */
  endSession(session: Session, id: string, requestId?: string): Promise<Outcome<NoContent>> {
    return this.dependencies.ledger.endSessionById(id, { ...sessionActor(session), requestId });
  }

  /** Ends the sessions of the session's account, except itself. */
  endOthers(session: Session, requestId?: string): Promise<Outcome<NoContent>> {
    return this.dependencies.ledger.endOtherSessions({ ...sessionActor(session), requestId });
  }

  private lookUp(hash: string): Promise<StoredSession | undefined> {
    const now = this.dependencies.now();
    const idleSince = isoTime(now - LIMIT.sessionIdleMs);
    return this.gate.pass(() =>
      this.dependencies.ledger.findSession(hash, isoTime(now), idleSince),
    );
  }
}

// Session of an account, and the actor of its changes.

export type Session = {
  readonly account: Account;
  readonly tokenHash: string;
  /** Null for an account without a password. */
  readonly passwordHash: string | null;
  readonly hasPassword: boolean;
  /** Whether the session satisfies an organization that demands a second factor. */
  readonly isStrong: boolean;
};

/** Returns the account as people see it. */
function describe({ id, email, name }: Account): Account {
  return { id, email, name };
}

/** Returns the actor of a session's change; `needs` is the role that the change needs, if any. */
export function sessionActor({ account, tokenHash }: Session, needs?: NeededRole): AccountActor {
  return { kind: 'account', email: account.email, accountId: account.id, tokenHash, needs };
}
