// Engines that the contract suite is run on, and how a test lets time pass for them.

import type { Redis } from 'ioredis';
import type { Engine } from '../../../src/store/engine.ts';

/** Milliseconds that calls may take on a busy machine, where it is proved what they do. */
export const ANSWER_MS_MAX = 60_000;

export type EnginesUnderTest = {
  readonly engine: Engine;
  /** Another node of the same engine. */
  readonly second: Engine;
  /** Makes everything that has been counted, and all that was taken, so much older. */
  pass(ms: number): Promise<void>;
  /** Two more nodes, on the same store where there is one. */
  more(): Promise<EnginesUnderTest>;
  dispose(): Promise<void>;
};

/** Declares a rule of the contract, where the suite has it. */
export type Rule = (title: string, body: () => void | Promise<void>) => void;

/**
 * Makes rate windows and taken batches on a server older. Its clock cannot be set, so their times are moved:
 * those in lists and sorted sets are microseconds, and of batches Redis keeps how long they have been idle.
 */
export async function passTimeOn(redis: Redis, ms: number): Promise<void> {
  for (const key of await redis.keys('sluice:rate:*')) {
    const times = await redis.lrange(key, 0, -1);
    for (const [at, time] of times.entries())
      await redis.lset(key, at, String(Number(time) - ms * 1000));
  }
  for (const key of await redis.keys('sluice:device-rate:*')) {
    const members = await redis.zrange(key, '0', '-1');
    for (const member of members) await redis.zincrby(key, -ms * 1000, member);
  }
  for (const key of await redis.keys('sluice:check-ins:*')) {
    const groups = await redis.xinfo('GROUPS', key);
    if ((groups as unknown[]).length === 0) continue;
    const pending = (await redis.xpending(key, 'drain', '-', '+', 10_000)) as Pending[];
    for (const [id, taker, idleMs] of pending) {
      await redis.call('XCLAIM', key, 'drain', taker, 0, id, 'IDLE', idleMs + ms, 'JUSTID');
    }
  }
}

type Pending = [id: string, taker: string, idleMs: number, deliveries: number];
