// Limits on sign-in attempts, counted over all nodes.
//
// One address has ten attempts for one account in a quarter of an hour, and fifty for all accounts together.
// An attacker with many addresses is slowed per account: beyond thirty attempts, one is allowed every five
// seconds. This last limit does not apply to addresses from which the account was signed in to since this
// process started: for such an address only its own attempts count, and a success clears them.
//
// None of these limits applies to a browser that signed in to the account before (`KnownBrowsers`), or to an
// open session: each has ten attempts of its own, so that strangers cannot keep the owner of the account out.

import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type Failure, failUntil } from '../contract/failure.ts';
import { LIMIT } from '../contract/limit.ts';
import { Unavailable } from '../contract/unavailable.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Engine } from '../store/engine.ts';
import type { RateDecision } from '../store/rate-decision.ts';

type Counter = Pick<Engine, 'countRequest' | 'forgetRequests'>;

export type ThrottleDependencies = {
  readonly engine: Counter;
  /** Counter of this node alone, used while the engine is unavailable. */
  readonly alone: Counter;
  readonly metrics: Metrics;
};

const KNOWN_PAIRS_MAX = 10_000;

export class LoginThrottle {
  private readonly dependencies: ThrottleDependencies;
  /** Pairs of account and address that signed in since this node started. */
  private readonly known = new LRUCache<string, true>({ max: KNOWN_PAIRS_MAX });

  constructor(dependencies: ThrottleDependencies) {
    this.dependencies = dependencies;
  }

  /** Counts an attempt before it is made, and returns the refusal above a limit. */
  async admit(email: string, address: string): Promise<Failure<'rateLimited'> | undefined> {
    const account = digest(email);
    const pair = pairKey(account, address);
    return (
      (await this.admitAddress(address)) ??
      (await this.count(`login-pair:${pair}`, LIMIT.loginsPerPairMax, LIMIT.loginWindowMs)) ??
      (this.known.has(pair) ? undefined : await this.takeTurn(account))
    );
  }

  /** Counts an attempt that names no account. */
  admitAddress(address: string): Promise<Failure<'rateLimited'> | undefined> {
    return this.count(`login-address:${address}`, LIMIT.loginsPerAddressMax, LIMIT.loginWindowMs);
  }

  /** Counts an attempt of a known browser or an open session; `id` is its own. */
  admitKnown(id: string): Promise<Failure<'rateLimited'> | undefined> {
    return this.count(`login-known:${id}`, LIMIT.loginsPerBrowserMax, LIMIT.loginWindowMs);
  }

  /** Clears the attempts of a known browser or an open session after a success. */
  async succeedKnown(id: string): Promise<void> {
    await this.ask((counter) => counter.forgetRequests(`login-known:${id}`));
  }

  /** Clears the attempts of an address for an account after a success. */
  async succeed(email: string, address: string): Promise<void> {
    const pair = pairKey(digest(email), address);
    this.known.set(pair, true);
    await this.ask((counter) => counter.forgetRequests(`login-pair:${pair}`));
  }

  private async takeTurn(account: string): Promise<Failure<'rateLimited'> | undefined> {
    const max = LIMIT.loginsPerAccountMax;
    const refusal = await this.count(`login-account:${account}`, max, LIMIT.loginWindowMs);
    if (refusal === undefined) return undefined;
    return this.count(`login-turn:${account}`, 1, LIMIT.loginTurnMs);
  }

  private async count(
    key: string,
    limit: number,
    windowMs: number,
  ): Promise<Failure<'rateLimited'> | undefined> {
    const decision = await this.ask(
      (counter): Promise<RateDecision> => counter.countRequest(key, limit, windowMs),
    );
    return decision.isAllowed ? undefined : failUntil('rateLimited', decision.waitMs);
  }

  /**
   * Counts in the engine, or on this node alone when the engine is unavailable: that must neither lock users
   * out nor lift the limits.
   */
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

/**
 * Hash of an e-mail address, so that the engine does not store addresses, which may contain any character.
 */
function digest(email: string): string {
  return createHash('sha256').update(email).digest('hex').slice(0, 32);
}

function pairKey(account: string, address: string): string {
  return `${account}/${address}`;
}
