// Tests that a stream ends when its viewer loses access, and only then, with an event that says why.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { operatorBy } from '../../src/access/access.ts';
import type { LiveEndReason } from '../../src/contract/console-fleet.ts';
import { RecheckAccess, watchOf } from '../../src/http/endpoint/recheck-access.ts';
import type { AppAccessRight } from '../../src/store/account-ledger.ts';

type Reason = LiveEndReason;
type Events = { readonly end: { readonly reason: Reason } };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Opens a stream, which is told to stop when it ends, as the writer of a response does it. */
function open(
  recheck: RecheckAccess<Reason>,
  findObstacle: () => Promise<Reason | undefined>,
  name = 'a',
) {
  const ends: Reason[] = [];
  let stops = 0;
  const source = () => () => {
    stops += 1;
  };
  const sink = {
    send: () => undefined,
    end(_: string, { reason }: Events['end']) {
      ends.push(reason);
      close();
    },
  };
  const close = recheck.watching<Events>(source, { name, findObstacle })(sink);
  return { close, ends, stops: () => stops };
}

const MINUTE_MS = 60_000;

it.each<[what: string, findings: readonly string[], calls: number, ends: readonly string[]]>([
  ['goes on while it is allowed, and while nobody can say', ['', 'away'], 6, []],
  [
    'ends within ten seconds when it is not, once, and asks no more',
    ['no-access'],
    1,
    ['no-access'],
  ],
])('%s', async (_, findings, expectedCalls, ends) => {
  let calls = 0;
  const stream = open(new RecheckAccess<Reason>(), async () => {
    const found = findings[calls++ % findings.length];
    if (found === 'away') throw new Error('away');
    return (found || undefined) as Reason | undefined;
  });
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  expect([calls, stream.ends, stream.stops()]).toEqual([expectedCalls, ends, ends.length]);
  // Nor once its reader has left.
  if (ends.length === 0) stream.close();
  expect([stream.stops(), vi.getTimerCount()]).toEqual([1, 0]);
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  expect(calls).toBe(expectedCalls);
});

it('ends at once when a check is asked for; while one runs, after the next', async () => {
  const recheck = new RecheckAccess<Reason>();
  let reason: Reason | undefined;
  let answer = (): void => undefined;
  let calls = 0;
  const stream = open(recheck, () => {
    calls += 1;
    const seen = reason;
    return new Promise((resolve) => {
      answer = () => resolve(seen);
    });
  });
  recheck.now();
  await vi.advanceTimersByTimeAsync(0);
  reason = 'signed-out';
  for (let round = 0; round < 5; round++) recheck.now();
  for (let round = 0; round < 2; round++) {
    answer();
    await vi.advanceTimersByTimeAsync(0);
  }
  expect([calls, stream.ends]).toEqual([2, ['signed-out']]);
});

it('asks once for all streams of a viewer on an app, and no more once the store is away', async () => {
  const recheck = new RecheckAccess<Reason>();
  const asked: string[] = [];
  const streams = ['a', 'b', 'a', 'c', 'd', 'e'].map((name) => {
    const findObstacle = async () => {
      asked.push(name);
      if (name === 'b') throw new Error('away');
      return name === 'a' ? ('signed-out' as const) : undefined;
    };
    return open(recheck, findObstacle, name);
  });
  recheck.now();
  await vi.advanceTimersByTimeAsync(0);
  expect(asked.filter((name) => name === 'a')).toHaveLength(1);
  expect(asked.length).toBeLessThan(5);
  expect(streams.map(({ ends }) => ends.length)).toEqual([1, 0, 1, 0, 0, 0]);
  for (const { close, stops } of streams) if (stops() === 0) close();
});

it('ends that of the operator whose token was rotated away, and no other', async () => {
  let tokens: readonly string[] = ['former', 'next'];
  const accounts = {
    isAdminToken: (token: string) => tokens.includes(token),
    isOpen: async () => true,
  };
  const app = { id: 'app', ref: 'app', name: 'App' };
  const right: AppAccessRight = { organizationId: 'org', role: 'owner', app };
  const access = { toApp: async () => right };
  const recheck = new RecheckAccess<Reason>();
  const [next, former] = ['next', 'former'].map((token) => {
    const visitor = operatorBy(token, accounts);
    if (visitor === undefined) throw new Error('not the operator');
    const { name, findObstacle } = watchOf(visitor, 'app', { accounts, access });
    return open(recheck, findObstacle, name);
  });
  await vi.advanceTimersByTimeAsync(10_000);
  expect([former?.ends, next?.ends]).toEqual([[], []]);
  tokens = ['next'];
  expect(operatorBy('former', accounts)).toBeUndefined();
  await vi.advanceTimersByTimeAsync(10_000);
  expect([former?.ends, next?.ends]).toEqual([['signed-out'], []]);
  next?.close();
});
