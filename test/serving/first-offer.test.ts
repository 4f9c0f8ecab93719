// Tests the barrier in front of a release's first manifest, alone and inside a check: its cost, its answer
// when the channel moved or the ledger is away, and that it costs nothing afterwards.

import { afterEach, describe, expect, it, vi } from 'vitest';
import { LockedTooLong } from '../../src/contract/store-fault.ts';
import type { CompiledRelease } from '../../src/domain/decision/catalog.ts';
import type {
  ServingSnapshot,
  SnapshotRelease,
} from '../../src/domain/decision/serving-snapshot.ts';
import { CheckInBuffer } from '../../src/fleet/check-in-buffer.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { RareLog } from '../../src/observe/rare-log.ts';
import { FirstOffers } from '../../src/serving/first-offers.ts';
import { catalog as compiled, release } from '../domain/sample.ts';
import { FakeLedger, ledgerAway } from '../support/fake-ledger.ts';
import {
  channelAt,
  checkOf,
  DEVICE,
  loadedNode,
  queryOf,
  servedRevision,
  servingNode,
  settle,
} from './serving-node.ts';

const RETRY_AFTER_MS = 1000;
const WAIT_MAX_MS = 1500;
/** Maximum number of times that a check decides again before it takes the release for unavailable. */
const DECIDED_AGAIN_MAX = 10;

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** State of the channel: `1.1.0` is a release that was never offered, `1.0.0*` one that was. */
function stateOf(revision: number, ...texts: readonly string[]): ServingSnapshot {
  const releases = texts.map((text) =>
    release(text.replace('*', ''), { offered: text.endsWith('*') }),
  );
  return channelAt(revision, 'stable', { releases });
}

/** A catalog with one release that was never offered. */
function fresh(channel = 'stable') {
  const id = channel === 'stable' ? 'rel-1.0.0' : `rel-${channel}`;
  const parts = { channel, channelId: `chn_${channel}` };
  const catalog = compiled([release('1.0.0', { id, offered: false })], parts);
  return { catalog, only: catalog.published[0] as CompiledRelease };
}

type Fresh = ReturnType<typeof fresh>;

/** First offers without a node, on a clock that the test moves. */
function barrier() {
  const clock = { now: 5000 };
  const ledger = new FakeLedger();
  const lines: unknown[] = [];
  const log = new RareLog({ warn: (...line: unknown[]) => void lines.push(line) });
  const recorded: CompiledRelease[] = [];
  const tell = (_catalog: unknown, offered: CompiledRelease): void => {
    offered.offered = true;
    recorded.push(offered);
  };
  const now = () => clock.now;
  const shared = { tell, find: async () => 'unavailable' as const };
  const metrics = new Metrics();
  const offers = new FirstOffers({ ledger: ledger.port, shared, metrics, log, now });
  const record = ({ catalog, only }: Fresh) => offers.record(catalog, only);
  /** Lets the ledger record what it is asked for from now on. */
  const mend = (): void => {
    ledger.fault = undefined;
    ledger.answerOffer = async () => true;
  };
  const pass = (ms: number): void => {
    clock.now += ms;
  };
  return { ledger, record, mend, pass, recorded, lines };
}

type LateCall = { answer(isRecorded: boolean): void; fail(error: Error): void };

/** Makes the ledger's next call for a first offer wait until the test ends it. */
function answersLate(ledger: FakeLedger): LateCall {
  const call: LateCall = { answer: () => {}, fail: () => {} };
  ledger.answerOffer = () =>
    new Promise((resolve, reject) => Object.assign(call, { answer: resolve, fail: reject }));
  return call;
}

function useFakeTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
}

describe('a first offer', () => {
  it('from a catalog that the channel has left is stale, from a ledger with a bug a failure', async () => {
    const { ledger, record, mend, recorded } = barrier();
    const offer = fresh();
    ledger.answerOffer = async () => false;
    for (let time = 0; time < 2; time++) expect(await record(offer)).toBe('stale');
    ledger.fault = new TypeError('bug');
    await expect(record(offer)).rejects.toThrow(TypeError);
    expect([offer.only.offered, recorded, ledger.offers.length]).toEqual([false, [], 3]);
    mend();
    expect(await record(offer)).toBe('recorded');
  });
});

describe('without the ledger', () => {
  it('a first offer of any channel is not asked for again for a second; what was offered stays so', async () => {
    const { ledger, record, mend, pass } = barrier();
    const [left, right, before] = [fresh('stable'), fresh('beta'), fresh('nightly')];
    ledger.fault = ledgerAway();
    expect(await record(left)).toBe('unavailable');
    expect(await record(right)).toBe('unavailable');
    before.only.offered = true;
    expect(await record(before)).toBe('recorded');
    pass(RETRY_AFTER_MS - 1);
    expect(await record(left)).toBe('unavailable');
    expect(ledger.offers).toHaveLength(1);
    mend();
    pass(1);
    expect(await record(right)).toBe('recorded');
    expect(await record(left)).toBe('recorded');
    expect(ledger.offers).toHaveLength(3);
  });

  it('a time-out of one channel bars that channel and no other, and asks once', async () => {
    useFakeTime();
    const { ledger, record, mend, pass } = barrier();
    const [slow, quick] = [fresh('stable'), fresh('beta')];
    const call = answersLate(ledger);
    const timedOut = record(slow);
    await settle();
    vi.advanceTimersByTime(WAIT_MAX_MS - 1);
    await settle();
    // Callers that come before the time-out wait for the same attempt.
    const joined = record(slow);
    vi.advanceTimersByTime(1);
    expect(await timedOut).toBe('unavailable');
    expect(await joined).toBe('unavailable');
    // While the call goes on, nobody waits for it, and there is no second one.
    pass(RETRY_AFTER_MS * 10);
    expect(await record(slow)).toBe('unavailable');
    expect(ledger.offers).toHaveLength(1);
    mend();
    expect(await record(quick)).toBe('recorded');
    call.fail(ledgerAway());
    await settle();
    expect(await record(slow)).toBe('recorded');
  });

  it('a channel that stays locked is avoided for a second, others are not; each has a line', async () => {
    const { ledger, record, mend, pass, lines } = barrier();
    const [locked, other, free] = [fresh('stable'), fresh('beta'), fresh('nightly')];
    const err = new LockedTooLong('ledger', new Error('lock timeout'));
    ledger.fault = err;
    for (const each of [locked, other]) expect(await record(each)).toBe('unavailable');
    mend();
    expect(await record(free)).toBe('recorded');
    pass(RETRY_AFTER_MS - 1);
    expect(await record(locked)).toBe('unavailable');
    pass(1);
    expect(await record(locked)).toBe('recorded');
    expect(lines).toEqual(
      ['stable', 'beta'].map((channel) => [
        { app: 'acme', channel, version: '1.0.0', err },
        'first offer could not be recorded',
      ]),
    );
  });

  it.each([
    ['succeeds', true, (call: LateCall) => call.answer(true)],
    ['finds the channel changed', false, (call: LateCall) => call.answer(false)],
    ['meets a bug', false, (call: LateCall) => call.fail(new TypeError('bug'))],
  ])(
    'a call that %s after its time-out: it is remembered as an offer is %s',
    async (_, isOffer, end) => {
      useFakeTime();
      const { ledger, record, recorded } = barrier();
      const offer = fresh();
      const call = answersLate(ledger);
      const timedOut = record(offer);
      await settle();
      vi.advanceTimersByTime(WAIT_MAX_MS);
      expect(await timedOut).toBe('unavailable');
      expect(recorded).toEqual([]);
      end(call);
      await settle();
      expect(recorded).toEqual(isOffer ? [offer.only] : []);
      expect(offer.only.offered).toBe(isOffer);
      if (isOffer) expect(await record(offer)).toBe('recorded');
      expect(ledger.offers).toHaveLength(1);
    },
  );

  it('at most five calls are under way, and those that wait too long are not made', async () => {
    useFakeTime();
    const { ledger, record } = barrier();
    answersLate(ledger);
    const asked = Array.from({ length: 20 }, (_, index) => record(fresh(`channel-${index}`)));
    await settle();
    expect(ledger.offers).toHaveLength(5);
    vi.advanceTimersByTime(WAIT_MAX_MS);
    expect(new Set(await Promise.all(asked))).toEqual(new Set(['unavailable']));
    expect(ledger.offers).toHaveLength(5);
  });
});

describe('a check that would be a first offer', () => {
  it('in parallel with others is one write, and from then on none', async () => {
    const node = servingNode();
    node.ledger.commit(stateOf(1, '1.0.0'));
    expect(await checkOf(node, queryOf('1.0.0'))).toBe('up-to-date');
    expect(node.ledger.offers).toEqual([]);
    const query = queryOf('0.9.0');
    const answers = await Promise.all(Array.from({ length: 20 }, () => checkOf(node, query)));
    expect(new Set(answers)).toEqual(new Set(['1.0.0']));
    // Every device is answered without waiting, also while the ledger is away.
    node.ledger.fault = ledgerAway();
    for (const known of [query, queryOf('0.1.0')]) {
      expect(node.check.now(known, DEVICE)).toMatchObject({ reason: 'offered' });
    }
    expect(node.ledger.offers).toEqual(['rel-1.0.0@1']);
    expect(node.ledger.reads).toHaveLength(1);
  });

  const paused = [release('1.0.0', { offered: false, status: 'paused' })];
  it.each<[string, ServingSnapshot, string, offers: number]>([
    ['from a newer catalog', stateOf(2, '1.1.0', '1.0.0'), '1.1.0', 2],
    ['without what was paused', channelAt(2, 'stable', { releases: paused }), 'up-to-date', 1],
  ])('is decided again %s when the channel has moved', async (_how, moved, answer, offers) => {
    const node = await loadedNode(stateOf(1, '1.0.0'));
    node.ledger.commit(moved);
    expect(await checkOf(node)).toBe(answer);
    expect(node.ledger.offers).toHaveLength(offers);
    expect(servedRevision(node)).toBe(2);
  });

  it('of a channel that never stops moving ends, with the next release below; also of one that never moves', async () => {
    for (const isMoving of [true, false]) {
      const node = await loadedNode(stateOf(1, '1.1.0', '1.0.0*'));
      let revision = 1;
      node.ledger.answerOffer = async () => {
        revision += 1;
        if (isMoving) node.ledger.commit(stateOf(revision, '1.1.0', '1.0.0*'));
        return false;
      };
      expect(await checkOf(node)).toBe('1.0.0');
      expect(node.ledger.offers).toHaveLength(DECIDED_AGAIN_MAX + 1);
    }
  });

  it('without the ledger is answered with the next release that was offered before', async () => {
    const clock = { now: 0 };
    const node = await loadedNode(stateOf(1, '1.1.0', '1.0.0*'), () => clock.now);
    node.ledger.fault = ledgerAway();
    for (let time = 0; time < 2; time++) expect(await checkOf(node)).toBe('1.0.0');
    expect(node.ledger.offers).toHaveLength(1);
    node.ledger.fault = undefined;
    clock.now += RETRY_AFTER_MS;
    expect(await checkOf(node)).toBe('1.1.0');
  });

  it('that finds its catalog stale and then the ledger away falls back; a bug fails it', async () => {
    for (const fault of [ledgerAway(), new TypeError('bug')]) {
      const node = await loadedNode(stateOf(1, '1.1.0', '1.0.0*'));
      node.ledger.answerOffer = async () => {
        node.ledger.fault = fault;
        return false;
      };
      if (fault instanceof TypeError) await expect(checkOf(node)).rejects.toThrow(TypeError);
      else expect(await checkOf(node)).toBe('1.0.0');
    }
  });

  it("the machine's clock set back by an hour does not lengthen the second", async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    const node = await loadedNode(stateOf(1, '1.1.0', '1.0.0*'));
    node.ledger.fault = ledgerAway();
    expect(await checkOf(node)).toBe('1.0.0');
    node.ledger.fault = undefined;
    vi.setSystemTime(Date.now() - 3_600_000);
    vi.advanceTimersByTime(RETRY_AFTER_MS);
    expect(await checkOf(node)).toBe('1.1.0');
  });
});

describe('a check for which nothing is left but first offers that cannot be recorded (§14.3)', () => {
  /** A node whose ledger is away; it has a channel with these releases. */
  async function withoutLedger(...releases: readonly SnapshotRelease[]) {
    const node = await loadedNode(channelAt(1, 'stable', { releases }));
    node.ledger.fault = ledgerAway();
    return node;
  }
  const unoffered = (version: string, parts: Partial<SnapshotRelease> = {}) =>
    release(version, { offered: false, ...parts });

  it('is refused and may be repeated after a second; it is counted and leaves no check-in', async () => {
    const node = await withoutLedger(unoffered('1.0.0'));
    const addCheckIn = vi.spyOn(CheckInBuffer.prototype, 'add');
    const settled = node.check.later(queryOf('0.9.0'), { ...DEVICE, id: 'device-1' });
    expect(await settled).toMatchObject({ failure: 'unavailable', retryAfterSeconds: 1 });
    expect(node.metrics.checks.sums.get('first-offer-unavailable')).toBe(1);
    expect(node.metrics.firstOffers.counts.get('unavailable')).toBe(1);
    expect(addCheckIn).not.toHaveBeenCalled();
  });

  it.each([
    ['is refused whatever keeps higher releases away', '1.0.0', 'unavailable'],
    ['is refused on the way back from a rolled-back one', '1.3.0', 'unavailable'],
    ['is another thing when a lower release was offered before', '0.9.0', '1.0.0'],
    ['is another thing when no higher release is there', '1.2.0', 'up-to-date'],
    ['is another thing when what is higher is not for the device', '1.1.0', 'outside-cohort'],
  ])('%s', async (_what, runs, answer) => {
    const back = release('1.3.0', { status: 'rolled_back' });
    const highest = unoffered('1.2.0', { rolloutPct: 0 });
    const lowest = runs === '1.3.0' ? [] : [release('1.0.0')];
    const node = await withoutLedger(back, highest, unoffered('1.1.0'), ...lowest);
    expect(await checkOf(node, queryOf(runs))).toBe(answer);
  });

  it('is another thing when the release is withdrawn while it cannot be recorded', async () => {
    const node = await loadedNode(stateOf(1, '1.1.0'));
    node.ledger.answerOffer = async () => {
      const releases = [unoffered('1.1.0', { status: 'paused' })];
      await node.engine.putSnapshot(channelAt(2, 'stable', { releases }));
      throw ledgerAway();
    };
    expect(await checkOf(node)).toBe('up-to-date');
    expect(servedRevision(node)).toBe(2);
  });
});
