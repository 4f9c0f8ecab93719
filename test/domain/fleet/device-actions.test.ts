// Tests the actions of devices that speak DDI (docs/contract.md 34.10 and 34.16 to 34.34): what a poll lists,
// what reports change, and what never happens, whatever comes in whatever order.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  CHANNEL_TOO_OLD,
  decidePoll,
  type PollOutcome,
  type PollQuestion,
} from '../../../src/domain/fleet/action-poll.ts';
import {
  closeAction,
  endCancelled,
  liftBar,
  noteFetched,
  tellAttributes,
  tellVersion,
} from '../../../src/domain/fleet/action-reports.ts';
import {
  type ActionRelease,
  actionId,
  barEnd,
  type DeviceActions,
  lastId,
  NO_ACTIONS,
  openId,
} from '../../../src/domain/fleet/device-actions.ts';
import { packActions, parseActions } from '../../../src/domain/fleet/packed-actions.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const T0 = 1_750_000_000_000;
const KNOWN: DeviceActions = { ...NO_ACTIONS, putAt: T0, version: '1.0.0', hasTold: true };

const release = (number: number, retriedAt?: number) => {
  return { number, version: `${number}.0.0`, retriedAt };
};
function question(part: Partial<PollQuestion> = {}): PollQuestion {
  const { decided } = part;
  return {
    ...{ now: T0, channelId: 'stable', order: { epoch: 0, revision: 5 }, decided: undefined },
    isOffered: ({ number }) => number === decided?.number,
    ...{ rule: { retries: 2, retryAfterMinutes: 60, askDays: 7 }, isVersionInAddress: false },
    ...part,
  };
}
function poll(device: DeviceActions, part: Partial<PollQuestion> = {}): PollOutcome {
  const outcome = decidePoll(device, question(part));
  if (outcome === CHANNEL_TOO_OLD) throw new Error('the channel is too old');
  return outcome;
}
const offered = (device: DeviceActions, number: number, now = T0) =>
  poll(device, { decided: release(number), now }).device;
const fetched = (device: DeviceActions) => noteFetched(device, openId(device) ?? 0, T0);
const closed = (device: DeviceActions, result: 'succeeded' | 'failed', at = T0) =>
  closeAction(device, openId(device) ?? 0, result, at);

describe('a poll', () => {
  it('opens an action for the decision, and lists it until it ends', () => {
    const { device, listed } = poll(KNOWN, { decided: release(2) });
    expect(listed).toEqual({ kind: 'deployment', id: 21 });
    const again = poll(device, { decided: release(2) });
    expect(again.device).toBe(device);
    expect(again.listed).toEqual(listed);
  });

  it('takes a number that a ledger gave again after it went back for another release', () => {
    const again = { decided: { ...release(2), version: '2.5.0' } };
    expect(poll(offered(KNOWN, 2), again).listed).toEqual({ kind: 'deployment', id: 22 });
    const begun = fetched(offered(KNOWN, 2));
    const isOffered = (asked: ActionRelease) => asked.version === '2.5.0';
    expect(poll(begun, { ...again, isOffered }).listed).toEqual({ kind: 'cancel', id: 21 });
    const barred = closed(offered(KNOWN, 2), 'failed');
    expect(poll(barred, { decided: release(2) }).isBarred).toBe(true);
    expect(poll(barred, again).listed).toEqual({ kind: 'deployment', id: 22 });
  });

  it('lists nothing where nothing is decided', () => {
    expect(poll(KNOWN)).toEqual({
      device: KNOWN,
      listed: undefined,
      asksAttributes: false,
      isBarred: false,
    });
  });

  it('drops what is withdrawn and was not fetched, and lists the decision in its place', () => {
    const open = offered(KNOWN, 3);
    expect(poll(open).listed).toBeUndefined();
    const other = poll(open, { decided: release(2) });
    expect([other.listed, other.device.last?.state]).toEqual([
      { kind: 'deployment', id: 22 },
      'withdrawn',
    ]);
    expect(poll(other.device, { decided: release(3) }).listed?.id).toBe(33);
  });

  it('asks to cancel what was fetched, until an answer or an hour', () => {
    const { device, listed } = poll(fetched(offered(KNOWN, 3)), { decided: release(2) });
    expect(listed).toEqual({ kind: 'cancel', id: 31 });
    const later = { decided: release(3), now: T0 + HOUR - 1 };
    expect(poll(device, later).listed).toEqual(listed);
    expect(poll(device, { ...later, now: T0 + HOUR }).listed).toEqual({
      kind: 'deployment',
      id: 32,
    });
    const answered = endCancelled(device, 31, T0);
    expect(poll(answered, { decided: release(2) }).listed).toEqual({ kind: 'deployment', id: 22 });
    expect(endCancelled(device, 32, T0)).toBe(device);
  });

  it('lets a fetched action finish before a newer release, and no other', () => {
    const device = fetched(offered(KNOWN, 2));
    const newer = { decided: release(3), isOffered: () => true };
    expect(poll(device, newer).listed?.id).toBe(21);
    expect(poll(offered(KNOWN, 2), newer).listed?.id).toBe(32);
  });

  it('withdraws nothing by an older state of the channel, and refuses one that lacks the release', () => {
    const device = fetched(offered(KNOWN, 3));
    const older = { order: { epoch: 0, revision: 4 }, decided: release(2) };
    expect(poll(device, { ...older, isOffered: () => false }).listed?.id).toBe(31);
    expect(decidePoll(device, question({ ...older, isOffered: () => undefined }))).toBe(
      CHANNEL_TOO_OLD,
    );
    // Revisions of two channels cannot be compared.
    expect(poll(device, { ...older, channelId: 'beta' }).listed?.kind).toBe('cancel');
  });

  it('asks for attributes that are missing, too old, or have to confirm a success', () => {
    const asks = (device: DeviceActions, now: number, part: Partial<PollQuestion> = {}) =>
      poll(device, { now, ...part }).asksAttributes;
    expect(asks(NO_ACTIONS, T0)).toBe(true);
    expect([asks(KNOWN, T0 + 7 * DAY), asks(KNOWN, T0 + 7 * DAY + 1)]).toEqual([false, true]);
    const rule = { retries: 0, retryAfterMinutes: 5, askDays: 0 };
    expect(asks(KNOWN, T0 + 99 * DAY, { rule })).toBe(false);
    const told = tellAttributes(KNOWN, { version: '1.0.0' }, T0);
    const success = closed(offered(told, 2), 'succeeded');
    const times = [5 * MINUTE - 1, 5 * MINUTE, DAY - 1, DAY];
    expect(times.map((after) => asks(success, T0 + after))).toEqual([false, true, true, false]);
    expect(asks(success, T0 + 5 * MINUTE, { isVersionInAddress: true })).toBe(false);
    const put = tellAttributes(success, { version: '1.0.0' }, T0 + 6 * MINUTE);
    expect(asks(put, T0 + 66 * MINUTE - 1)).toBe(false);
    expect(asks(put, T0 + 66 * MINUTE)).toBe(true);
    expect(asks(tellVersion(success, '2.0.0', T0), T0 + HOUR)).toBe(false);
  });
});

describe('the end of an action', () => {
  it('bars the device from the release, and from no other', () => {
    for (const result of ['succeeded', 'failed'] as const) {
      const device = closed(offered(KNOWN, 2), result);
      const next = poll(device, { decided: release(2) });
      expect([next.listed, next.isBarred]).toEqual([undefined, true]);
      expect(poll(device, { decided: release(3) }).listed?.id).toBe(32);
    }
  });

  it('is tried again after a failure, as often as the channel says, each time twice as late', () => {
    let device = closed(offered(KNOWN, 2), 'failed');
    for (const [hours, id] of [
      [1, 22],
      [2, 23],
    ] as const) {
      const early = { decided: release(2), now: T0 + hours * HOUR - 1 };
      expect(poll(device, early).isBarred).toBe(true);
      const { device: open, listed } = poll(device, { ...early, now: T0 + hours * HOUR });
      expect(listed?.id).toBe(id);
      device = closed(open, 'failed');
    }
    expect(poll(device, { decided: release(2), now: T0 + 999 * DAY }).isBarred).toBe(true);
    const rule = { retries: 3, retryAfterMinutes: 60 };
    expect(device.bars.map((bar) => barEnd(bar, rule))).toEqual([T0 + 4 * HOUR]);
  });

  it('is tried again when the release is, for the device or for all', () => {
    const device = closed(offered(KNOWN, 2), 'failed');
    const listed = (each: DeviceActions, retriedAt?: number) =>
      poll(each, { decided: release(2, retriedAt) }).listed?.id;
    expect([listed(device, T0 - 1), listed(device, T0)]).toEqual([undefined, 22]);
    expect(listed(liftBar(device, 2))).toBe(22);
    expect(liftBar(device, 3)).toBe(device);
  });

  it('has all its retries again once all devices are to try it again (34.52)', () => {
    const once = closed(offered(KNOWN, 2), 'failed');
    const twice = closed(poll(once, { decided: release(2), now: T0 + HOUR }).device, 'failed');
    const decided = release(2, T0 + 1);
    const { device } = poll(twice, { decided, now: T0 + 1 });
    expect(device.bars).toEqual([]);
    const again = closed(device, 'failed', T0 + 2);
    expect(again.bars).toMatchObject([{ tries: 1 }]);
    expect(poll(again, { decided, now: T0 + 2 + HOUR }).listed?.id).toBe(24);
  });

  it('ends the bar after a success once the device leaves the version that it had', () => {
    const success = closed(offered(KNOWN, 2), 'succeeded');
    // What was told before the restart ends nothing.
    const before = tellVersion(success, '1.0.1', T0);
    expect(poll(before, { decided: release(2) }).isBarred).toBe(true);
    const left = tellVersion(tellVersion(before, '2.0.0', T0), '1.0.0', T0);
    expect(poll(left, { decided: release(2) }).listed?.id).toBe(22);
  });

  it('comes as a success with the version, whatever was reported', () => {
    const told = tellVersion(fetched(offered(KNOWN, 2)), '2.0.0', T0);
    expect([told.action, told.last?.state]).toEqual([undefined, 'succeeded']);
    expect(closeAction(told, lastId(told) ?? 0, 'failed', T0)).toBe(told);
  });

  it('tells the version of a device that never told one, and of no other', () => {
    const silent = { ...KNOWN, version: undefined, hasTold: false };
    expect(closed(offered(silent, 2), 'succeeded').version).toBe('2.0.0');
    expect(closed(offered(silent, 2), 'failed').version).toBeUndefined();
    expect(closed(offered(KNOWN, 2), 'succeeded').version).toBe('1.0.0');
  });

  it('counts once, also while or after it is withdrawn, until another one is listed', () => {
    const device = fetched(offered(KNOWN, 3));
    const first = closed(device, 'failed');
    expect(closeAction(first, 31, 'succeeded', T0)).toBe(first);
    const cancelled = poll(device).device;
    expect(closeAction(cancelled, 31, 'succeeded', T0).last?.state).toBe('succeeded');
    const ended = endCancelled(cancelled, 31, T0);
    expect(closeAction(ended, 31, 'failed', T0).bars).toMatchObject([{ number: 3, tries: 1 }]);
    const next = offered(ended, 2);
    expect(closeAction(next, 31, 'failed', T0)).toBe(next);
  });

  it('keeps the eight newest bars', () => {
    let device = KNOWN;
    for (let number = 2; number <= 10; number++) device = closed(offered(device, number), 'failed');
    expect(device.bars.map((bar) => bar.number)).toEqual([3, 4, 5, 6, 7, 8, 9, 10]);
  });
});

// A device, a channel whose decision goes up and down, and whatever they do in whatever order.

const RELEASES = 4;
const anyNumber = fc.integer({ min: 2, max: RELEASES });
const anyStep = fc.oneof(
  fc.record({ kind: fc.constant('decide' as const), number: fc.option(anyNumber) }),
  fc.record({ kind: fc.constant('tell' as const), number: fc.integer({ min: 1, max: RELEASES }) }),
  fc.record({
    kind: fc.constant('close' as const),
    result: fc.constantFrom('succeeded', 'failed'),
  }),
  fc.record({ kind: fc.constant('wait' as const), minutes: fc.integer({ min: 1, max: 300 }) }),
  fc.constantFrom(
    ...(['poll', 'poll', 'fetch', 'cancelled', 'put'] as const).map((kind) => ({ kind })),
  ),
);
const anySteps = fc.array(anyStep, { maxLength: 60 });

it('is never listed against the rules, whatever happens', () => {
  fc.assert(
    fc.property(anySteps, (steps) => {
      let device = NO_ACTIONS;
      let decided: ReturnType<typeof release> | undefined;
      let now = T0;
      const ids: number[] = [];
      const closedIds = new Set<number>();
      for (const step of steps) {
        const before = device;
        const id = openId(device) ?? lastId(device) ?? 0;
        if (step.kind === 'decide')
          decided = step.number === null ? undefined : release(step.number);
        if (step.kind === 'tell') device = tellVersion(device, `${step.number}.0.0`, now);
        if (step.kind === 'put') device = tellAttributes(device, { platform: 'linux' }, now);
        if (step.kind === 'fetch') device = noteFetched(device, id, now);
        if (step.kind === 'cancelled') device = endCancelled(device, id, now);
        if (step.kind === 'wait') now += step.minutes * MINUTE;
        if (step.kind === 'close') {
          device = closeAction(device, id, step.result as 'succeeded' | 'failed', now);
          if (device !== before) closedIds.add(id);
        }
        if (step.kind === 'poll') {
          // No release is decided for a device that runs it.
          const isRun = decided?.version === device.version;
          const outcome = poll(device, { now, decided: isRun ? undefined : decided });
          ({ device } = outcome);
          const { listed } = outcome;
          if (listed?.kind === 'deployment') {
            expect(listed.id % 10).not.toBe(0);
            expect(closedIds.has(listed.id)).toBe(false);
            expect(device.action?.version).not.toBe(device.version);
            if (listed.id !== ids.at(-1)) {
              expect(ids.slice(-8)).not.toContain(listed.id);
              expect(device.action?.number).toBe(decided?.number);
              ids.push(listed.id);
              // An id may come again after the ids of nine actions.
              closedIds.clear();
            }
          }
        }
        expect(parseActions(packActions(device))).toEqual(device);
        if (device !== before) expect(device.revision).toBeGreaterThan(before.revision);
      }
    }),
  );
});

it('has ids that lead to the release, are never told apart by their last digit 0, and fit 32 bits', () => {
  expect([0, 1, 8, 9].map((ended) => actionId(7, ended))).toEqual([71, 72, 79, 71]);
  expect(actionId(214_748_363, 8)).toBeLessThanOrEqual(2_147_483_647);
});

it('is read only in its own form, and is small', () => {
  const told = tellAttributes(KNOWN, { platform: 'linux', arch: 'aarch64', version: '1.0.0' }, T0);
  const text = packActions(closed(fetched(offered(told, 2)), 'failed'));
  expect(text.length).toBeLessThan(80);
  const others = ['', '{}', '[1]', `2${text.slice(1)}`, text.slice(0, -1), `${text}]`, `${text} 1`];
  // The end that the newest bar tells, an open action and a bar of other forms, and no list of texts.
  others.push(
    '1 1 0  1.0.0 1  = ',
    '1 1 0  1.0.0 1 2,2.0.0  ',
    '1 1 0  1.0.0 1   2',
    '1 1 0   1    [1]',
  );
  for (const other of others) expect([other, parseActions(other)]).toEqual([other, undefined]);
});

const anyCount = fc.nat();
const anyTime = fc.integer({ min: 1, max: 10 * T0 });
const anyVersion = fc.constantFrom('1.0.0', '2.0.0', '1.2.3.4-rc.1+build.5');
const anyText = fc.string({ unit: 'binary', maxLength: 20 });
const anyRelease = { number: anyCount, version: anyVersion };
const anyActions: fc.Arbitrary<DeviceActions> = fc.record({
  revision: anyCount,
  told: fc.record(
    { platform: anyText, arch: anyText, bundle: anyText, version: anyVersion },
    { requiredKeys: [] },
  ),
  putAt: fc.option(anyTime, { nil: undefined }),
  version: fc.option(anyVersion, { nil: undefined }),
  hasTold: fc.boolean(),
  ended: anyCount,
  action: fc.option(
    fc.record({
      ...anyRelease,
      state: fc.constantFrom('open', 'fetched', 'withdrawing'),
      since: anyTime,
      channelId: fc.constantFrom('stable', 'chn_01j9z3k5w8d2m4n6p7q8r9s0t1'),
      order: fc.record({ epoch: anyCount, revision: anyCount }),
    }),
    { nil: undefined },
  ),
  last: fc.option(
    fc.record({
      ...anyRelease,
      state: fc.constantFrom('succeeded', 'failed', 'withdrawn'),
      since: anyTime,
    }),
    { nil: undefined },
  ),
  bars: fc.array(
    fc.record({
      ...anyRelease,
      result: fc.constantFrom('succeeded', 'failed'),
      at: anyTime,
      tries: anyCount,
      isConfirmed: fc.boolean(),
    }),
    { maxLength: 8 },
  ),
});

it('is read as it was written, whatever its device told, in whole milliseconds', () => {
  fc.assert(
    fc.property(anyActions, (device) => {
      // Attributes are not empty: an empty one is not told.
      const told = Object.fromEntries(Object.entries(device.told).filter(([, text]) => text));
      const text = packActions(device);
      expect(parseActions(text)).toEqual({ ...device, told });
      // PostgreSQL keeps no NUL, and no half of a surrogate pair.
      expect(text.isWellFormed() && !text.includes('\0')).toBe(true);
    }),
  );
  const between = { ...KNOWN, putAt: T0 + 0.75 };
  expect(parseActions(packActions(between))).toEqual(KNOWN);
});
