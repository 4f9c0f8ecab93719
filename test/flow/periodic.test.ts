// Tests work in turns: when turns come, that two never run at a time, what a stop waits for, and what is told
// of faults. What is repeated by them has no such tests of its own.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { type Periodic, periodic, tellFault } from '../../src/flow/periodic.ts';

type Options = Parameters<typeof periodic>[1];

const EVERY_MS = 1000;

let running: Periodic | undefined;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  void running?.stop();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Times, from the start on, at which turns began in these milliseconds, each of which took `takes`. */
async function turnsWithin(
  ms: number,
  options: Partial<Options>,
  takes = 0,
  turn: (index: number) => unknown = () => undefined,
): Promise<number[]> {
  const begun: number[] = [];
  const startedAt = performance.now();
  running = periodic(
    async () => {
      begun.push(performance.now() - startedAt);
      const left = turn(begun.length - 1);
      if (takes > 0) await new Promise((resolve) => setTimeout(resolve, takes));
      return left;
    },
    { everyMs: EVERY_MS, ...options },
  );
  running.start();
  await vi.advanceTimersByTimeAsync(ms);
  return begun;
}

const twice = (index: number) => index < 2;

function fail(): never {
  throw new Error('a bug');
}

describe('turns', () => {
  it.each<[string, Partial<Options>, number, ((index: number) => unknown) | undefined, number[]]>([
    ['begin after a period', {}, 0, undefined, [1000, 2000, 3000]],
    ['begin at once', { firstMs: 0 }, 0, undefined, [0, 1000, 2000, 3000]],
    ['begin after a time of their own', { firstMs: 300 }, 0, undefined, [300, 1300, 2300, 3300]],
    ['come a period after the one before has ended', {}, 700, undefined, [1000, 2700]],
    ['come at once where more is left', { busyMs: 0 }, 100, twice, [1000, 1100, 1200, 2300]],
    ['come sooner where more is left', { busyMs: 10 }, 0, twice, [1000, 1010, 1020, 2020, 3020]],
    ['come as ever after a fault', { busyMs: 0, onFault: () => true }, 0, fail, [1000, 2000, 3000]],
  ])('%s', async (_what, options, takes, turn, expected) => {
    expect(await turnsWithin(3300, options, takes, turn)).toEqual(expected);
  });

  it('come sooner at random by no more than the jitter, so that nodes do not keep step', async () => {
    const random = vi.spyOn(Math, 'random').mockReturnValue(0);
    expect(await turnsWithin(1000, { jitter: 0.2 })).toEqual([1000]);
    await running?.stop();
    random.mockReturnValue(1);
    expect(await turnsWithin(1700, { jitter: 0.2 })).toEqual([800, 1600]);
  });

  it('begin once, however often they are started', async () => {
    const begun = await turnsWithin(1000, {});
    running?.start();
    await vi.advanceTimersByTimeAsync(1500);
    expect(begun).toEqual([1000, 2000]);
  });

  it('can be taken at any time, and tell whether they left more to do', async () => {
    const [left, onFault] = [[true, undefined, new Error('a bug')], vi.fn()];
    const polls = periodic(
      () => {
        const next = left.shift();
        // Before there is a promise.
        if (next instanceof Error) throw next;
        return Promise.resolve(next);
      },
      { everyMs: EVERY_MS, onFault },
    );
    const told = [await polls.turn(), await polls.turn(), await polls.turn()];
    expect(told).toEqual([true, false, false]);
    expect(onFault.mock.calls).toEqual([[new Error('a bug')]]);
  });
});

describe('a stop', () => {
  it('waits for the turn that is taken, after which none comes, though more is left', async () => {
    const begun = await turnsWithin(1000, { busyMs: 0 }, 500, () => true);
    let isStopped = false;
    const stopped = running?.stop().then(() => {
      isStopped = true;
    });
    await vi.advanceTimersByTimeAsync(499);
    expect(isStopped).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await stopped;
    await vi.advanceTimersByTimeAsync(10_000);
    expect([running?.isStopped, begun]).toEqual([true, [1000]]);
  });

  it('waits for every turn that is taken, also for one beside which another began', async () => {
    const ends: (() => void)[] = [];
    const work = () => new Promise<void>((resolve) => ends.push(resolve));
    const polls = periodic(work, { everyMs: EVERY_MS });
    const [first, second] = [polls.turn(), polls.turn()];
    const ended: string[] = [];
    const stopped = polls.stop().then(() => ended.push('stop'));
    ends[1]?.();
    await second;
    void first.then(() => ended.push('turn'));
    ends[0]?.();
    await stopped;
    expect(ended).toEqual(['turn', 'stop']);
  });

  it('before the start keeps it from starting', async () => {
    const work = vi.fn(async () => undefined);
    const polls = periodic(work, { everyMs: EVERY_MS, firstMs: 0 });
    await polls.stop();
    polls.start();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(work).not.toHaveBeenCalled();
  });
});

describe('a fault', () => {
  const away = new Unavailable('ledger', new Error('connection refused'));
  const bug = new TypeError('a bug');

  it.each<[string, Error, Parameters<typeof tellFault>[4], unknown[]]>([
    ['a bug is an error', bug, {}, ['error', { err: bug }, 'it failed']],
    ['a store that is away is worth no line', away, {}, ['debug', { err: away }, 'it failed']],
    [
      'it may have its own words',
      away,
      { waits: 'it waits' },
      ['debug', { err: away }, 'it waits'],
    ],
    ['or none', away, { waits: false }, []],
    [
      'with details',
      bug,
      { details: { plan: 'a' } },
      ['error', { err: bug, plan: 'a' }, 'it failed'],
    ],
  ])('is counted; %s', (_what, error, options, expected) => {
    const line: unknown[] = [];
    const places: string[] = [];
    const metrics = { faults: { add: (place: string) => void places.push(place) } };
    const log = {
      debug: (...told: unknown[]) => void line.push('debug', ...told),
      error: (...told: unknown[]) => void line.push('error', ...told),
    };
    tellFault({ metrics, log }, 'poll', error, 'it failed', options);
    expect([places, line]).toEqual([['poll'], expected]);
  });
});
