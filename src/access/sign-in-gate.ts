// Gate in front of every check of an account's password: tells known browsers from strangers, and counts the
// try in the budget that it belongs to.

import type { Outcome } from '../contract/failure.ts';
import { ConcurrencyLimit } from '../flow/concurrency-limit.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { StoredAccount } from '../store/account-ledger.ts';
import type { Ledger } from '../store/ledger.ts';
import type { FailedSignIns } from './failed-sign-ins.ts';
import type { KnownBrowsers } from './known-browsers.ts';
import type { Passwords } from './passwords.ts';
import type { LoginThrottle } from './sign-in-limits.ts';

/** Client that tries a password. */
export type Client = {
  /** Address by which it is limited. */
  readonly address: string;
  /** Cookie of a known browser, genuine or not; undefined without one. */
  readonly browser: string | undefined;
  /** Hash of an invitation to the account that the client holds: its tries count on their own. */
  readonly voucher?: string;
};

/** Result of a try: the account, with the password that was given or another one. */
export type Tried = { readonly account: StoredAccount | undefined; readonly isRight: boolean };

export type SignInGateDependencies = {
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
  private readonly dependencies: SignInGateDependencies;
  private readonly gate = new ConcurrencyLimit(LOOKUPS_RUNNING_MAX, LOOKUPS_WAITING_MAX);

  constructor(dependencies: SignInGateDependencies) {
    this.dependencies = dependencies;
  }

  /**
   * Tries a password for an e-mail address. Takes as long for an address without an account as for one with a
   * wrong password.
   */
  async try(
    email: string,
    password: string,
    client: Client,
  ): Promise<Outcome<Tried, 'rateLimited'>> {
    const { passwords, throttle, failed, metrics } = this.dependencies;
    const known = client.voucher ?? (await this.recognise(email, client));
    const refusal = await (known === undefined
      ? throttle.admit(email, client.address)
      : throttle.admitKnown(known));
    if (refusal !== undefined) {
      metrics.signIns.add('limited');
      return refusal;
    }
    const account = await this.lookUp(email);
    const isRight = await passwords.verify(account?.passwordHash, password, known !== undefined);
    metrics.signIns.add(isRight ? 'succeeded' : 'failed');
    if (!isRight && account !== undefined) failed.note(account, client.address);
    if (isRight && known === undefined) await throttle.succeed(email, client.address);
    if (isRight && known !== undefined) await throttle.succeedKnown(known);
    return { account, isRight };
  }

  /** Returns the id of the browser if it signed in to the account with its present password. */
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
