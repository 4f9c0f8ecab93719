// Tests loads of channels that are not loaded: a ledger that fails or is late holds nobody up whose channel
// lies elsewhere, and is asked again soon.

import { afterEach, describe, expect, it, vi } from 'vitest';
import { fail, failUntil } from '../../src/contract/failure.ts';
import { AppCounts } from '../../src/observe/app-counts.ts';
import { CHECK_REASONS } from '../../src/observe/label-values.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { RareLog } from '../../src/observe/rare-log.ts';
import { CatalogSlot, PlanBudget } from '../../src/serving/catalog-slot.ts';
import { ColdLoads } from '../../src/serving/cold-loads.ts';
import { ledgerAway } from '../support/fake-ledger.ts';
import { settle } from './serving-node.ts';

/** Bounds of `ColdLoads`, written down again so that a changed bound fails a test. */
const PATIENCE_MS = 800;
const WAIT_MS = 5000;
const AVOID_MS = 1000;
const READS_RUNNING = 4;

type Outcome = Awaited<ReturnType<ColdLoads['load']>>;
type Answer = (outcome: Outcome | Promise<never>) => void;

// Files share a process, and with it the clock that a test replaces.
afterEach(() => vi.useRealTimers());

/** Loads on sources that the test answers, and on a clock that it moves. */
function coldLoads() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const plans = new PlanBudget();
  const checks = new AppCounts(CHECK_REASONS);
  const slots = {
    ledger: new CatalogSlot(plans, checks),
    elsewhere: new CatalogSlot(plans, checks),
  };
  const asked: string[] = [];
  const answers = new Map<string, Answer>();
  const elsewhere = new Map<string, CatalogSlot>();
  const warnings: string[] = [];
  const log = new RareLog({
    warn: (_details: unknown, text?: string) => warnings.push(text ?? ''),
  });
  const loads = new ColdLoads(
    {
      ledger: ({ channel }) => {
        asked.push(channel);
        return new Promise((resolve) => answers.set(channel, resolve));
      },
      elsewhere: async ({ channel }) => elsewhere.get(channel),
    },
    new Metrics(),
    log,
  );
  return {
    slots,
    asked,
    warnings,
    keep: (...channels: string[]) => {
      for (const channel of channels) elsewhere.set(channel, slots.elsewhere);
    },
    load: (channel: string) => loads.load({ appRef: 'acme', channel }),
    answer: (channel: string, outcome: Outcome | Error) =>
      answers.get(channel)?.(outcome instanceof Error ? Promise.reject(outcome) : outcome),
    async pass(ms: number) {
      await settle();
      await vi.advanceTimersByTimeAsync(ms);
      await settle();
    },
  };
}

/** Returns `pending`, or what the load resolved to. */
async function stateOf(load: Promise<unknown>): Promise<unknown> {
  await settle();
  return Promise.race([load, Promise.resolve('pending')]);
}

const UNAVAILABLE = failUntil('unavailable', 1000);

describe('a ledger that answers in time', () => {
  it('is asked alone, once for all who ask for the channel', async () => {
    const { load, answer, asked, keep, slots } = coldLoads();
    keep('a');
    const both = [load('a'), load('a')];
    await settle();
    answer('a', slots.ledger);
    expect(await Promise.all(both)).toEqual([slots.ledger, slots.ledger]);
    // What does not exist lies nowhere else.
    keep('gone');
    const gone = load('gone');
    await settle();
    answer('gone', fail('unknownApp'));
    expect(await gone).toMatchObject({ failure: 'unknownApp' });
    expect(asked).toEqual(['a', 'gone']);
  });
});

describe('a ledger that is late', () => {
  it('does not hold up a channel that lies elsewhere for longer than 0.8 s, and others not at all', async () => {
    const { load, asked, keep, slots, pass } = coldLoads();
    keep('a', 'b');
    const first = load('a');
    await pass(PATIENCE_MS - 1);
    expect(await stateOf(first)).toBe('pending');
    await pass(1);
    expect(await first).toBe(slots.elsewhere);
    expect(await stateOf(load('b'))).toBe(slots.elsewhere);
    expect(asked).toEqual(['a']);
  });

  it('is asked again by one load after a second, and comes first once it answers', async () => {
    const { load, answer, asked, keep, slots, pass } = coldLoads();
    keep('a', 'b', 'c', 'd');
    const first = load('a');
    await pass(PATIENCE_MS);
    await first;
    await pass(AVOID_MS);
    const probe = load('b');
    // While one load tries, the others do not wait.
    expect(await stateOf(load('c'))).toBe(slots.elsewhere);
    answer('b', slots.ledger);
    expect(await probe).toBe(slots.ledger);
    const next = load('d');
    await settle();
    expect(asked).toEqual(['a', 'b', 'd']);
    answer('d', slots.ledger);
    expect(await next).toBe(slots.ledger);
  });

  it('is waited for when it alone has the channel, for five seconds at most', async () => {
    const { load, answer, slots, pass } = coldLoads();
    const [slow, dead] = [load('slow'), load('dead')];
    await pass(PATIENCE_MS + 1000);
    answer('slow', slots.ledger);
    expect(await slow).toBe(slots.ledger);
    await pass(WAIT_MS);
    expect(await dead).toEqual(UNAVAILABLE);
  });

  it('turns those away who would still have to wait for their turn, and serves them when they come again', async () => {
    const { load, answer, asked, slots, pass } = coldLoads();
    for (let index = 0; index < READS_RUNNING; index++) void load(`c${index}`);
    const last = load('last');
    await pass(PATIENCE_MS);
    expect(await last).toEqual(UNAVAILABLE);
    for (let index = 0; index < READS_RUNNING; index++) answer(`c${index}`, slots.ledger);
    await settle();
    expect(asked.at(-1)).toBe('last');
    const again = load('last');
    answer('last', slots.ledger);
    expect(await again).toBe(slots.ledger);
    expect(asked.filter((name) => name === 'last')).toHaveLength(1);
  });
});

describe('a ledger that fails', () => {
  it('is not asked for a second: what lies elsewhere is served, the rest is unavailable at once', async () => {
    const { load, answer, asked, keep, slots, pass, warnings } = coldLoads();
    keep('a', 'b');
    const first = load('a');
    await settle();
    answer('a', ledgerAway());
    expect(await first).toBe(slots.elsewhere);
    expect(await stateOf(load('b'))).toBe(slots.elsewhere);
    expect(await stateOf(load('only-there'))).toEqual(UNAVAILABLE);
    expect(asked).toEqual(['a']);
    expect(warnings).toEqual(['ledger unavailable, looking for the last known state']);
    await pass(AVOID_MS);
    const probe = load('only-there');
    await settle();
    answer('only-there', slots.ledger);
    expect(await probe).toBe(slots.ledger);
  });

  it('is not asked again by those who waited behind the one that failed', async () => {
    const { load, answer, asked, pass } = coldLoads();
    const names = Array.from({ length: 20 }, (_, index) => `c${index}`);
    const all = names.map(load);
    await settle();
    for (const name of names.slice(0, READS_RUNNING)) answer(name, ledgerAway());
    await pass(0);
    expect(await Promise.all(all)).toEqual(names.map(() => UNAVAILABLE));
    expect(asked).toHaveLength(READS_RUNNING);
  });

  it('for a bug is no outage: those who wait get the error, and the next one asks again', async () => {
    const { load, answer, slots, warnings } = coldLoads();
    const broken = load('a');
    await settle();
    answer('a', new TypeError('bug'));
    await expect(broken).rejects.toThrow('bug');
    expect(warnings).toEqual(['a channel could not be loaded']);
    const next = load('a');
    await settle();
    answer('a', slots.ledger);
    expect(await next).toBe(slots.ledger);
  });
});
