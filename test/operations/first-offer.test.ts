// Tests the barrier in front of a release's first manifest, alone and inside a check: its cost, its answer
// when the channel moved or the ledger is away, and that it costs nothing afterwards.

import { afterEach, describe, expect, it, vi } from 'vitest';
import { isFailure } from '../../src/contract/failure.ts';
import type { CompiledRelease } from '../../src/domain/decision/catalog.ts';
import type {
  ServingSnapshot,
  SnapshotRelease,
} from '../../src/domain/decision/serving-snapshot.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { RareLog } from '../../src/observe/rare-log.ts';
import { CheckIns } from '../../src/operations/fleet/check-ins.ts';
import { FirstOffers } from '../../src/operations/serving/first-offer.ts';
import { LockedTooLong } from '../../src/ports/unavailable.ts';
import { manifestOf } from '../../src/updater/manifest.ts';
import { catalog as compiled, device, release } from '../domain/sample.ts';
import { FakeLedger, ledgerAway } from '../support/fake-ledger.ts';
import {
  channelAt,
  queryOf,
  type ServingNode,
  servedRevision,
  servingNode,
  settle,
} from './serving-node.ts';

const RETRY_AFTER_MS = 1000;
const WAIT_MAX_MS = 1500;
/** Maximum number of times that a check decides again before it takes the release for unavailable. */
const DECIDED_AGAIN_MAX = 10;
const DEVICE = {
  id: undefined,
  ...device('device-1'),
  labelsTag: 0,
  network: new Int32Array(2),
};

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A channel whose releases were never offered. */
function unoffered(revision: number, versions: readonly string[], channel = 'stable') {
  const releases = versions.map((version) => release(version, { offered: false }));
  return channelAt(revision, channel, { releases });
}

/** A catalog with one release that was never offered. */
function fresh(channel = 'stable') {
  const parts = { channel, channelId: `chn_${channel}` };
  const id = channel === 'stable' ? 'rel-1.0.0' : `rel-${channel}`;
  const catalog = compiled([release('1.0.0', { id, offered: false })], parts);
  const [only] = catalog.published;
  if (only === undefined) throw new Error('the sample has a release');
  return { catalog, only };
}

/** First offers without a node, on a clock that the test moves; with `own` on the real clock. */
function barrier(clock: { now: number } | 'own' = { now: 5000 }) {
  const ledger = new FakeLedger();
  const lines: unknown[] = [];
  const log = new RareLog({ warn: (...line: unknown[]) => void lines.push(line) });
  const metrics = new Metrics();
  const recorded: CompiledRelease[] = [];
  const tell = (_catalog: unknown, offered: CompiledRelease): void => {
    offered.offered = true;
    recorded.push(offered);
  };
  const now = clock === 'own' ? undefined : () => clock.now;
  const shared = { tell, find: async () => 'unavailable' as const };
  const offers = new FirstOffers({ ledger: ledger.port, shared, metrics, log, now });
  return { ledger, offers, recorded, lines, clock: clock === 'own' ? { now: 0 } : clock };
}

type LateCall = { answer(isRecorded: boolean): void; fail(error: Error): void };

/** Makes the ledger's next call for a first offer wait until the test ends it. */
function answersLate(ledger: FakeLedger): LateCall {
  const call: LateCall = { answer: () => {}, fail: () => {} };
  ledger.answerOffer = () =>
    new Promise((resolve, reject) => Object.assign(call, { answer: resolve, fail: reject }));
  return call;
}

/** Returns the version that a check is answered with, or the reason why there is none. */
async function check({ check: update }: ServingNode, query = queryOf('0.9.0')): Promise<string> {
  const settled = update.now(query, DEVICE) ?? (await update.later(query, DEVICE));
  if (isFailure(settled)) return settled.failure;
  const { plan, candidate, reason } = settled;
  if (candidate === undefined) return reason;
  return (JSON.parse(manifestOf(plan, candidate).toString()) as { version: string }).version;
}

describe('a first offer', () => {
  it('is one write, however many ask in parallel', async () => {
    const { ledger, offers, recorded } = barrier();
    const { catalog, only } = fresh();
    let record: (isRecorded: boolean) => void = () => {};
    ledger.answerOffer = () => new Promise((resolve) => (record = resolve));
    const asked = Array.from({ length: 50 }, () => offers.record(catalog, only));
    await settle();
    record(true);
    expect(new Set(await Promise.all(asked))).toEqual(new Set(['recorded']));
    expect(ledger.offers).toEqual(['rel-1.0.0@1']);
    expect(recorded).toEqual([only]);
  });

  it('of a release that was offered asks nobody', async () => {
    const { ledger, offers } = barrier();
    const { catalog, only } = fresh();
    ledger.answerOffer = async () => true;
    expect(await offers.record(catalog, only)).toBe('recorded');
    expect(await offers.record(catalog, only)).toBe('recorded');
    expect(ledger.offers).toHaveLength(1);
  });

  it('from a catalog that the channel has left is stale, and leaves no mark', async () => {
    const { ledger, offers, recorded } = barrier();
    const { catalog, only } = fresh();
    ledger.answerOffer = async () => false;
    expect(await offers.record(catalog, only)).toBe('stale');
    expect(only.offered).toBe(false);
    expect(recorded).toEqual([]);
    expect(await offers.record(catalog, only)).toBe('stale');
    expect(ledger.offers).toHaveLength(2);
  });

  it('is a failure, not an outage, when the ledger has a bug; and is asked for again', async () => {
    const { ledger, offers } = barrier();
    const { catalog, only } = fresh();
    ledger.fault = new TypeError('bug');
    await expect(offers.record(catalog, only)).rejects.toThrow(TypeError);
    ledger.fault = undefined;
    ledger.answerOffer = async () => true;
    expect(await offers.record(catalog, only)).toBe('recorded');
  });
});

describe('without the ledger', () => {
  it('a first offer is unavailable, is not asked for again for a second, and then is', async () => {
    const { ledger, offers, clock } = barrier();
    const { catalog, only } = fresh();
    ledger.fault = ledgerAway();
    expect(await offers.record(catalog, only)).toBe('unavailable');
    clock.now += RETRY_AFTER_MS - 1;
    expect(await offers.record(catalog, only)).toBe('unavailable');
    expect(ledger.offers).toHaveLength(1);
    ledger.fault = undefined;
    ledger.answerOffer = async () => true;
    clock.now += 1;
    expect(await offers.record(catalog, only)).toBe('recorded');
    expect(ledger.offers).toHaveLength(2);
  });

  it('a lost connection bars the first offers of every channel', async () => {
    const { ledger, offers, clock } = barrier();
    const [left, right] = [fresh('stable'), fresh('beta')];
    ledger.fault = ledgerAway();
    expect(await offers.record(left.catalog, left.only)).toBe('unavailable');
    expect(await offers.record(right.catalog, right.only)).toBe('unavailable');
    expect(ledger.offers).toHaveLength(1);
    clock.now += RETRY_AFTER_MS;
    ledger.fault = undefined;
    ledger.answerOffer = async () => true;
    expect(await offers.record(right.catalog, right.only)).toBe('recorded');
  });

  it('what was offered before stays offered', async () => {
    const { ledger, offers } = barrier();
    const [left, right] = [fresh('stable'), fresh('beta')];
    ledger.fault = ledgerAway();
    await offers.record(left.catalog, left.only);
    right.only.offered = true;
    expect(await offers.record(right.catalog, right.only)).toBe('recorded');
  });

  it('a time-out of one channel bars that channel and no other, and asks once', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { ledger, offers, clock } = barrier();
    const [slow, quick] = [fresh('stable'), fresh('beta')];
    const call = answersLate(ledger);
    const timedOut = offers.record(slow.catalog, slow.only);
    await settle();
    vi.advanceTimersByTime(WAIT_MAX_MS - 1);
    await settle();
    // Callers that come before the time-out wait for the same attempt.
    const joined = offers.record(slow.catalog, slow.only);
    vi.advanceTimersByTime(1);
    expect(await timedOut).toBe('unavailable');
    expect(await joined).toBe('unavailable');
    // While the call goes on, nobody waits for it, and there is no second one.
    clock.now += RETRY_AFTER_MS * 10;
    expect(await offers.record(slow.catalog, slow.only)).toBe('unavailable');
    expect(ledger.offers).toHaveLength(1);

    ledger.answerOffer = async () => true;
    expect(await offers.record(quick.catalog, quick.only)).toBe('recorded');
    call.fail(ledgerAway());
    await settle();
    expect(await offers.record(slow.catalog, slow.only)).toBe('recorded');
  });

  it('a channel that stays locked is avoided for a second, others are not', async () => {
    const { ledger, offers, clock } = barrier();
    const [locked, free] = [fresh('stable'), fresh('beta')];
    ledger.fault = new LockedTooLong('ledger', new Error('lock timeout'));
    expect(await offers.record(locked.catalog, locked.only)).toBe('unavailable');
    ledger.fault = undefined;
    ledger.answerOffer = async () => true;
    expect(await offers.record(free.catalog, free.only)).toBe('recorded');
    clock.now += RETRY_AFTER_MS - 1;
    expect(await offers.record(locked.catalog, locked.only)).toBe('unavailable');
    clock.now += 1;
    expect(await offers.record(locked.catalog, locked.only)).toBe('recorded');
  });

  it('a call that succeeds after its time-out is remembered: the release is offered from then on', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { ledger, offers, recorded } = barrier();
    const { catalog, only } = fresh();
    const call = answersLate(ledger);
    const timedOut = offers.record(catalog, only);
    await settle();
    vi.advanceTimersByTime(WAIT_MAX_MS);
    expect(await timedOut).toBe('unavailable');
    expect(recorded).toEqual([]);
    call.answer(true);
    await settle();
    expect(recorded).toEqual([only]);
    expect(await offers.record(catalog, only)).toBe('recorded');
    expect(ledger.offers).toHaveLength(1);
  });

  it.each([
    ['finds the channel changed', (call: LateCall) => call.answer(false)],
    ['fails', (call: LateCall) => call.fail(ledgerAway())],
    ['meets a bug', (call: LateCall) => call.fail(new TypeError('bug'))],
  ])('a call that %s after its time-out changes nothing', async (_what, end) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { ledger, offers, recorded } = barrier();
    const { catalog, only } = fresh();
    const call = answersLate(ledger);
    const timedOut = offers.record(catalog, only);
    await settle();
    vi.advanceTimersByTime(WAIT_MAX_MS);
    expect(await timedOut).toBe('unavailable');
    end(call);
    await settle();
    expect(recorded).toEqual([]);
    expect(only.offered).toBe(false);
  });

  it('at most five calls are under way, and those that wait too long are not made', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const { ledger, offers } = barrier();
    answersLate(ledger);
    const channels = Array.from({ length: 20 }, (_, index) => fresh(`channel-${index}`));
    const asked = channels.map(({ catalog, only }) => offers.record(catalog, only));
    await settle();
    expect(ledger.offers).toHaveLength(5);
    vi.advanceTimersByTime(WAIT_MAX_MS);
    expect(new Set(await Promise.all(asked))).toEqual(new Set(['unavailable']));
  });

  it('each first offer that could not be made has a line that names it', async () => {
    const { ledger, offers, lines } = barrier();
    const [left, right] = [fresh('stable'), fresh('beta')];
    ledger.fault = new LockedTooLong('ledger', new Error('lock timeout'));
    for (const { catalog, only } of [left, right]) await offers.record(catalog, only);
    expect(lines).toEqual(
      ['stable', 'beta'].map((channel) => [
        { app: 'acme', channel, version: '1.0.0', err: ledger.fault },
        'first offer could not be recorded',
      ]),
    );
  });

  it("the machine's clock set back by an hour does not lengthen the second", async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    const { ledger, offers } = barrier('own');
    const { catalog, only } = fresh();
    ledger.fault = ledgerAway();
    expect(await offers.record(catalog, only)).toBe('unavailable');
    ledger.fault = undefined;
    ledger.answerOffer = async () => true;
    vi.setSystemTime(Date.now() - 3_600_000);
    vi.advanceTimersByTime(RETRY_AFTER_MS - 1);
    expect(await offers.record(catalog, only)).toBe('unavailable');
    vi.advanceTimersByTime(1);
    expect(await offers.record(catalog, only)).toBe('recorded');
  });
});

describe('a check that would be a first offer', () => {
  it('in parallel with others is one write, and from then on none', async () => {
    const node = servingNode();
    node.ledger.commit(unoffered(1, ['1.0.0']));
    const query = queryOf('0.9.0');
    const answers = await Promise.all(Array.from({ length: 50 }, () => check(node, query)));
    expect(new Set(answers)).toEqual(new Set(['1.0.0']));
    expect(node.ledger.offers).toEqual(['rel-1.0.0@1']);
    // Every device is answered without waiting, also while the ledger is away.
    node.ledger.fault = ledgerAway();
    for (const version of ['0.9.0', '0.1.0']) {
      const known = version === '0.9.0' ? query : queryOf(version);
      expect(node.check.now(known, DEVICE)).toMatchObject({ reason: 'offered' });
    }
    expect(node.ledger.offers).toHaveLength(1);
    expect(node.ledger.reads).toHaveLength(1);
  });

  it('is not one when the device is up to date', async () => {
    const node = servingNode();
    node.ledger.commit(unoffered(1, ['1.0.0']));
    expect(await check(node, queryOf('1.0.0'))).toBe('up-to-date');
    expect(node.ledger.offers).toEqual([]);
  });

  it('is decided again from a newer catalog when the channel has moved', async () => {
    const node = servingNode();
    node.ledger.commit(unoffered(1, ['1.0.0']));
    await node.catalogs.find('acme', 'stable');
    node.ledger.commit(unoffered(2, ['1.1.0', '1.0.0']));
    expect(await check(node)).toBe('1.1.0');
    expect(node.ledger.offers).toEqual(['rel-1.0.0@1', 'rel-1.1.0@2']);
    expect(servedRevision(node)).toBe(2);
  });

  it('does not offer what was paused meanwhile', async () => {
    const node = servingNode();
    node.ledger.commit(unoffered(1, ['1.0.0']));
    await node.catalogs.find('acme', 'stable');
    const releases = [release('1.0.0', { offered: false, status: 'paused' })];
    node.ledger.commit(channelAt(2, 'stable', { releases }));
    expect(await check(node)).toBe('up-to-date');
  });

  it('of a channel that never stops moving ends, with the next release below', async () => {
    const node = servingNode();
    let revision = 1;
    const state = (): ServingSnapshot => {
      const newest = release('1.1.0', { offered: false });
      return channelAt(revision, 'stable', { releases: [newest, release('1.0.0')] });
    };
    node.ledger.commit(state());
    await node.catalogs.find('acme', 'stable');
    node.ledger.answerOffer = async () => {
      revision += 1;
      node.ledger.commit(state());
      return false;
    };
    expect(await check(node)).toBe('1.0.0');
    expect(node.ledger.offers).toHaveLength(DECIDED_AGAIN_MAX + 1);
    expect(new Set(node.ledger.offers).size).toBe(DECIDED_AGAIN_MAX + 1);
  });

  it('of a ledger that always says stale but never moves ends, too', async () => {
    const node = servingNode();
    node.ledger.commit(unoffered(1, ['1.0.0', '1.1.0', '1.2.0']));
    node.ledger.answerOffer = async () => false;
    expect(await check(node)).toBe('unavailable');
    expect(node.ledger.offers.length).toBeLessThanOrEqual(DECIDED_AGAIN_MAX + 3);
  });

  it('without the ledger is answered with the next release that was offered before', async () => {
    const clock = { now: 0 };
    const node = servingNode(() => clock.now);
    const releases = [release('1.1.0', { offered: false }), release('1.0.0')];
    node.ledger.commit(channelAt(1, 'stable', { releases }));
    await node.catalogs.find('acme', 'stable');
    node.ledger.fault = ledgerAway();
    expect(await check(node)).toBe('1.0.0');
    expect(await check(node)).toBe('1.0.0');
    expect(node.ledger.offers).toHaveLength(1);
    node.ledger.fault = undefined;
    clock.now += RETRY_AFTER_MS;
    expect(await check(node)).toBe('1.1.0');
  });

  it('that finds its catalog stale and then the ledger away falls back, too', async () => {
    const node = servingNode();
    const releases = [release('1.1.0', { offered: false }), release('1.0.0')];
    node.ledger.commit(channelAt(1, 'stable', { releases }));
    await node.catalogs.find('acme', 'stable');
    node.ledger.answerOffer = async () => {
      node.ledger.fault = ledgerAway();
      return false;
    };
    expect(await check(node)).toBe('1.0.0');
  });

  it('that finds its catalog stale and then a bug fails instead of answering', async () => {
    const node = servingNode();
    const releases = [release('1.1.0', { offered: false }), release('1.0.0')];
    node.ledger.commit(channelAt(1, 'stable', { releases }));
    await node.catalogs.find('acme', 'stable');
    node.ledger.answerOffer = async () => {
      node.ledger.fault = new TypeError('bug');
      return false;
    };
    await expect(check(node)).rejects.toThrow(TypeError);
  });
});

describe('a check for which nothing is left but first offers that cannot be recorded (§14.3)', () => {
  /** A node whose ledger is away; it has a channel with these releases. */
  async function withoutLedger(releases: readonly SnapshotRelease[]): Promise<ServingNode> {
    const node = servingNode();
    node.ledger.commit(channelAt(1, 'stable', { releases }));
    await node.catalogs.find('acme', 'stable');
    node.ledger.fault = ledgerAway();
    return node;
  }

  it('is refused and may be repeated after a second; it is counted and leaves no check-in', async () => {
    const node = await withoutLedger([release('1.0.0', { offered: false })]);
    const device = { ...DEVICE, id: 'device-1' };
    const addCheckIn = vi.spyOn(CheckIns.prototype, 'add');
    expect(await node.check.later(queryOf('0.9.0'), device)).toMatchObject({
      failure: 'unavailable',
      retryAfterSeconds: 1,
    });
    expect(node.metrics.checks.counts).toEqual(new Map([['first-offer-unavailable', 1]]));
    expect(node.metrics.firstOffers.counts).toEqual(new Map([['unavailable', 1]]));
    expect(addCheckIn).not.toHaveBeenCalled();
  });

  it('is refused whatever kept higher releases from the device', async () => {
    const node = await withoutLedger([
      release('1.2.0', { rolloutPct: 0 }),
      release('1.1.0', { offered: false }),
      release('0.9.0'),
    ]);
    expect(await check(node, queryOf('1.0.0'))).toBe('unavailable');
  });

  it('is refused when it is the way back from a release that was rolled back', async () => {
    const node = await withoutLedger([
      release('1.1.0', { status: 'rolled_back' }),
      release('1.0.0', { offered: false }),
    ]);
    expect(await check(node, queryOf('1.1.0'))).toBe('unavailable');
  });

  it.each([
    ['a lower release was offered before', '0.9.0', '1.0.0'],
    ['no higher release is there', '1.2.0', 'up-to-date'],
    ['what is higher is not for the device', '1.1.0', 'outside-cohort'],
  ])('is another thing when %s', async (_what, runs, answer) => {
    const node = await withoutLedger([
      release('1.2.0', { offered: false, rolloutPct: 0 }),
      release('1.1.0', { offered: false }),
      release('1.0.0'),
    ]);
    expect(await check(node, queryOf(runs))).toBe(answer);
  });

  it('is another thing when the release is withdrawn while it cannot be recorded', async () => {
    const node = servingNode();
    node.ledger.commit(unoffered(1, ['1.1.0']));
    await node.catalogs.find('acme', 'stable');
    node.ledger.answerOffer = async () => {
      const releases = [release('1.1.0', { offered: false, status: 'paused' })];
      await node.engine.putSnapshot(channelAt(2, 'stable', { releases }));
      throw ledgerAway();
    };
    expect(await check(node)).toBe('up-to-date');
    expect(servedRevision(node)).toBe(2);
  });
});
