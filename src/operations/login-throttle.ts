// Slows down who tries passwords, over all nodes.
//
// From one address an account can be tried ten times in a quarter of an hour, and an address can try fifty
// times whatever the account. Who has many addresses is slowed per account: beyond thirty tries, one every
// five seconds. An address from which somebody signed in to the account before does not take part in that,
// so that strangers cannot keep its owner out: only the ten tries of the owner's own address count there,
// and a success clears them.

import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type Failure, failUntil } from '../contract/failure.ts';
import { LIMIT } from '../contract/limit.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Engine, RateDecision } from '../ports/engine.ts';
import { Unavailable } from '../ports/unavailable.ts';

type Counter = Pick<Engine, 'countRequest' | 'forgetRequests'>;

export type ThrottleDependencies = {
  readonly engine: Counter;
  /** Counts when the engine is away. */
  readonly alone: Counter;
  readonly metrics: Metrics;
};

const KNOWN_PAIRS_MAX = 10_000;

export class LoginThrottle {
  private readonly dependencies: ThrottleDependencies;
  /** Pairs of account and address that have signed in while this node runs. */
  private readonly known = new LRUCache<string, true>({ max: KNOWN_PAIRS_MAX });

  constructor(dependencies: ThrottleDependencies) {
    this.dependencies = dependencies;
  }

  /** Counts a try before it is made; the 429 when it is one too many. */
  async admit(email: string, address: string): Promise<Failure | undefined> {
    const account = digest(email);
    const pair = pairKey(account, address);
    return (
      (await this.admitAddress(address)) ??
      (await this.count(`login-pair:${pair}`, LIMIT.loginsPerPairMax, LIMIT.loginWindowMs)) ??
      (this.known.has(pair) ? undefined : await this.takeTurn(account))
    );
  }

  /** The same for what names no account. */
  admitAddress(address: string): Promise<Failure | undefined> {
    return this.count(`login-address:${address}`, LIMIT.loginsPerAddressMax, LIMIT.loginWindowMs);
  }

  /** The password was right: the address starts anew with this account. */
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

  /** A lost engine must neither lock people out nor open the gate: this node counts alone then. */
  private async ask<Value>(question: (counter: Counter) => Promise<Value>): Promise<Value> {
    const { engine, alone, metrics } = this.dependencies;
    try {
      return await question(engine);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      metrics.faults.add('login');
      return question(alone);
    }
  }
}

/** An email is no business of the engine's, and may hold any character. */
function digest(email: string): string {
  return createHash('sha256').update(email).digest('hex').slice(0, 32);
}

function pairKey(account: string, address: string): string {
  return `${account}/${address}`;
}
