// Limits sign-in attempts over all nodes: in 15 minutes, from one IP address 10 for one account and 50 in
// all; from all addresses 30 for one account, then one every 5 seconds. Browsers that signed in before stay
// admitted during an attack from many addresses. Also limits the links that an organization's people make.

import { createHash, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type Failure, failUntil, isFailure, type Outcome } from '../contract/failure.ts';
import { LIMIT } from '../contract/limit.ts';
import { Unavailable, whenAway } from '../contract/store-fault.ts';
import { ConcurrencyLimit } from '../flow/concurrency-limit.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RareLog } from '../observe/rare-log.ts';
import type { FailedSignIn, StoredAccount } from '../store/account-ledger.ts';
import type { Engine, RateDecision } from '../store/engine.ts';
import type { Ledger } from '../store/ledger.ts';
import type { Passwords } from './passwords.ts';
import { SigningKey } from './signing-key.ts';

type Counter = Pick<Engine, 'countRequest' | 'forgetRequests'>;

export type ThrottleDependencies = {
  readonly engine: Counter;
  /** Counter of this node alone, used while the engine is unavailable. */
  readonly alone: Counter;
  readonly metrics: Metrics;
};

const KNOWN_PAIRS_MAX = 10_000;

export class LoginThrottle {
  /** Pairs of account and IP address that signed in since this node started. */
  private readonly known = new LRUCache<string, true>({ max: KNOWN_PAIRS_MAX });

  constructor(private readonly dependencies: ThrottleDependencies) {}

  /** Counts an attempt before it is made; returns the refusal above a limit. */
  async admit(email: string, address: string): Promise<Failure | undefined> {
    const account = digest(email);
    const pair = pairKey(account, address);
    return (
      (await this.admitAddress(address)) ??
      (await this.count(`login-pair:${pair}`, LIMIT.loginsPerPairMax, LIMIT.loginWindowMs)) ??
      (this.known.has(pair) ? undefined : await this.takeTurn(account))
    );
  }

  /** Counts an attempt of an IP address for any account or none. */
  admitAddress(address: string): Promise<Failure | undefined> {
    return this.count(`login-address:${address}`, LIMIT.loginsPerAddressMax, LIMIT.loginWindowMs);
  }

  /** Counts a link of an organization, an invitation or one for lost passkeys: each sends a mail. */
  admitLink(organizationId: string): Promise<Failure | undefined> {
    return this.count(`links:${organizationId}`, LIMIT.linksMax, LIMIT.linksWindowMs);
  }

  /** Counts a link that is mailed to an address whose owner did not ask for it. */
  admitRecipient(email: string): Promise<Failure | undefined> {
    const { linksPerRecipientMax, linksWindowMs } = LIMIT;
    return this.count(`links-to:${digest(email)}`, linksPerRecipientMax, linksWindowMs);
  }

  /** Admits an id once within the window: returns true to the first caller, also of concurrent ones. */
  async admitOnce(id: string, windowMs: number): Promise<boolean> {
    return (await this.count(`login-once:${id}`, 1, windowMs)) === undefined;
  }

  /** Counts an attempt of a known browser or an open session, identified by `id`. */
  admitKnown(id: string): Promise<Failure | undefined> {
    return this.count(`login-known:${id}`, LIMIT.loginsPerBrowserMax, LIMIT.loginWindowMs);
  }

  /** Clears the attempts of a known browser or an open session after a success. */
  async succeedKnown(id: string): Promise<void> {
    await this.ask((counter) => counter.forgetRequests(`login-known:${id}`));
  }

  /** Clears the attempts of an IP address for an account after a success. */
  async succeed(email: string, address: string): Promise<void> {
    const pair = pairKey(digest(email), address);
    this.known.set(pair, true);
    await this.ask((counter) => counter.forgetRequests(`login-pair:${pair}`));
  }

  private async takeTurn(account: string): Promise<Failure | undefined> {
    const max = LIMIT.loginsPerAccountMax;
    const refusal = await this.count(`login-account:${account}`, max, LIMIT.loginWindowMs);
    if (refusal === undefined) return undefined;
    return this.count(`login-turn:${account}`, 1, LIMIT.loginTurnMs);
  }

  private async count(key: string, limit: number, windowMs: number): Promise<Failure | undefined> {
    const decision = await this.ask(
      (counter): Promise<RateDecision> => counter.countRequest(key, limit, windowMs),
    );
    return decision.isAllowed ? undefined : failUntil('rateLimited', decision.waitMs);
  }

  /**
   * Counts in the engine, or on this node alone if the engine is unavailable, which must neither lock users
   * out nor lift the limits.
   */
  private ask<Value>(question: (counter: Counter) => Promise<Value>): Promise<Value> {
    const { engine, alone, metrics } = this.dependencies;
    return question(engine).catch(
      whenAway(() => {
        metrics.faults.add('login');
        return question(alone);
      }),
    );
  }
}

/** Hashes an email address, so that the engine stores no addresses. */
function digest(email: string): string {
  return createHash('sha256').update(email).digest('hex').slice(0, 32);
}

function pairKey(account: string, address: string): string {
  return `${account}/${address}`;
}

// Gate before every check of an account's password or passkey: distinguishes known browsers from strangers,
// and counts each try in the budget of its kind.

/** Client that tries a password. */
export type Client = {
  /** IP address that limits apply to. */
  readonly address: string;
  /** Cookie of a known browser, not yet verified; undefined if the client sent none. */
  readonly browser: string | undefined;
  /** `User-Agent` of the client. */
  readonly agent: string | undefined;
  /**
   * Whether the client has an invitation of the account, or its link for lost passkeys. Tries with links
   * share one budget an account, apart from that of strangers: making more links gives no more tries.
   */
  readonly hasLink?: boolean;
};

/** Result of a try: the account, and whether the password was right. */
type Tried = { readonly account: StoredAccount | undefined; readonly isRight: boolean };

/** Try that the limits admit; `known` identifies a known browser, or the account's links. */
type Admitted = {
  readonly email: string;
  readonly address: string;
  readonly known: string | undefined;
};

type SignInGateDependencies = {
  readonly ledger: Pick<Ledger, 'findAccount'>;
  readonly passwords: Passwords;
  readonly throttle: LoginThrottle;
  readonly browsers: KnownBrowsers;
  readonly failed: FailedSignIns;
  readonly metrics: Pick<Metrics, 'signIns'>;
};

/** Maximum number of concurrent look-ups of accounts, because every try costs one. */
const LOOKUPS_RUNNING_MAX = 4;
const LOOKUPS_WAITING_MAX = 1000;

export class SignInGate {
  private readonly gate = new ConcurrencyLimit(LOOKUPS_RUNNING_MAX, LOOKUPS_WAITING_MAX);

  constructor(private readonly dependencies: SignInGateDependencies) {}

  /** Tries a password. An email address without an account takes as long as a wrong password. */
  async try(email: string, password: string, client: Client): Promise<Outcome<Tried>> {
    const admitted = await this.admit(email, client);
    if (isFailure(admitted)) return admitted;
    const account = await this.lookUp(email);
    const isKnown = admitted.known !== undefined;
    const isRight = await this.dependencies.passwords.verify(
      account?.passwordHash ?? undefined,
      password,
      isKnown,
    );
    await this.conclude(admitted, account, isRight);
    return { account, isRight };
  }

  /** Counts a try of this client for an account, before it is made. */
  async admit(email: string, client: Client): Promise<Outcome<Admitted>> {
    const { throttle, metrics } = this.dependencies;
    const known = client.hasLink ? `link:${digest(email)}` : await this.recognise(email, client);
    const refusal = await (known === undefined
      ? throttle.admit(email, client.address)
      : throttle.admitKnown(known));
    if (refusal === undefined) return { email, address: client.address, known };
    metrics.signIns.add('limited');
    return refusal;
  }

  /** Records the result of a try: a success clears the count, a failure is audited. */
  async conclude(
    { email, address, known }: Admitted,
    account: FailedSignIn['account'] | undefined,
    isRight: boolean,
  ): Promise<void> {
    const { throttle, failed, metrics } = this.dependencies;
    metrics.signIns.add(isRight ? 'succeeded' : 'failed');
    if (!isRight && account !== undefined) failed.note(account, address);
    if (isRight && known === undefined) await throttle.succeed(email, address);
    if (isRight && known !== undefined) await throttle.succeedKnown(known);
  }

  /** Returns the browser's id if it signed in to the account with the account's present password. */
  private async recognise(email: string, client: Client): Promise<string | undefined> {
    const browser = await this.dependencies.browsers.recognise(client.browser, email);
    if (browser === undefined) return undefined;
    const account = await this.lookUp(email);
    return account?.passwordNumber === browser.passwordNumber ? browser.id : undefined;
  }

  private lookUp(email: string): Promise<StoredAccount | undefined> {
    return this.gate.pass(() => this.dependencies.ledger.findAccount(email));
  }
}

// Cookies of browsers that signed in to an account before (OWASP: device cookies). Tries of such a browser
// count in its own budget, so that strangers who try the account's password, from however many IP addresses,
// cannot lock its owner out. A key from the ledger signs the cookie, so it is valid on every node and after a
// restart. The cookie does not replace the password.

/** Browser that signed in to the account before, with the password of this number. */
type KnownBrowser = { readonly id: string; readonly passwordNumber: number };

const KEY_NAME = 'known-browser';
const ID_BYTES = 16;
const FORM = /^v1\.(\d{1,9})\.([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/;

export class KnownBrowsers {
  private readonly key: SigningKey;

  constructor(ledger: Pick<Ledger, 'readSigningKey'>) {
    this.key = new SigningKey(ledger, KEY_NAME);
  }

  /** Returns the cookie of a browser that just signed in, with a new id. */
  async issue(email: string, passwordNumber: number): Promise<string> {
    const id = randomBytes(ID_BYTES).toString('base64url');
    const signature = await this.key.sign([email, passwordNumber, id]);
    return ['v1', passwordNumber, id, signature.toString('base64url')].join('.');
  }

  /**
   * Returns the browser of a cookie that was issued for this account; undefined for any other text. The
   * caller must still compare `passwordNumber` with that of the account.
   */
  async recognise(cookie: string | undefined, email: string): Promise<KnownBrowser | undefined> {
    const [, number = '', id = '', signature = ''] = FORM.exec(cookie ?? '') ?? [];
    if (signature === '') return undefined;
    const passwordNumber = Number(number);
    const isRight = await this.key.isOf([email, passwordNumber, id], signature);
    return isRight ? { id, passwordNumber } : undefined;
  }
}

// Failed sign-ins on their way to the audit log: noted when they happen and written a little later, so that
// the answer takes equally long with and without an account. Failures of one account are written together,
// and at most once an hour in the audit log, so that nobody can fill the database by trying passwords.
// Failures without an account only count in the metrics.

const DELAY_MS = 1000;
const ACCOUNTS_MAX = 1000;

export class FailedSignIns {
  /** Failures that are not written yet, by account id. */
  private readonly pending = new Map<string, FailedSignIn>();
  private isScheduled = false;

  constructor(
    private readonly ledger: Pick<Ledger, 'recordFailedSignIns'>,
    private readonly log: RareLog,
  ) {}

  /** Records a wrong password from this IP address. */
  note(account: FailedSignIn['account'], address: string): void {
    const known = this.pending.get(account.id);
    if (known === undefined && this.pending.size >= ACCOUNTS_MAX) return;
    const { id, email } = account;
    const failures = (known?.failures ?? 0) + 1;
    this.pending.set(id, { account: { id, email }, failures, address });
    this.schedule();
  }

  /** Schedules one write. A process that stops earlier loses a second's failures. */
  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    setTimeout(() => void this.write(), DELAY_MS).unref();
  }

  private async write(): Promise<void> {
    for (const [id, failed] of this.pending) {
      try {
        await this.ledger.recordFailedSignIns(failed);
      } catch (error) {
        this.log.warn({ err: error }, 'failed sign-ins could not be recorded');
        // The next write begins at this account. A failure that the ledger refused is not sent again.
        if (error instanceof Unavailable) break;
      }
      this.forget(id, failed);
    }
    this.isScheduled = false;
    if (this.pending.size > 0) this.schedule();
  }

  /** Forgets the failures that were written, and keeps those that were noted meanwhile. */
  private forget(id: string, written: FailedSignIn): void {
    const { failures, ...rest } = this.pending.get(id) ?? written;
    if (failures === written.failures) this.pending.delete(id);
    else this.pending.set(id, { ...rest, failures: failures - written.failures });
  }
}
