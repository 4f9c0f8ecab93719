// Tests the way of check-ins from a request to the engine: in batches, in order, within a bound whose every
// drop is counted, and with retries as long as the engine refuses them.

import { afterEach, describe, expect, it, vi } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import type { CheckIn } from '../../src/domain/fleet/check-in.ts';
import { type CheckInPack, unpackCheckIns } from '../../src/domain/fleet/check-in-pack.ts';
import { CheckInBuffer } from '../../src/fleet/check-in-buffer.ts';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import type { CheckInQueue } from '../../src/store/check-in-queue.ts';
import { checkInOf } from '../store/engine/fleet-sample.ts';
import { gate } from '../support/gate.ts';
import { addCheckIn } from '../support/pack-check-ins.ts';

const HELD_MAX = 200_000;
const BATCH_SIZE_MAX = 2000;
const BATCHES_IN_FLIGHT_MAX = 8;
const INTERVAL_MS = 50;
const RETRY_MS = 250;

type AppendAnswer = 'accepted' | 'full' | Error;

/** A queue that answers as the test says, and keeps all batches and the accepted ones. */
class FakeQueue {
  readonly asked: (readonly CheckIn[])[] = [];
  readonly accepted: CheckIn[] = [];
  readonly streams = 1;
  runningMax = 0;
  answer: (batch: readonly CheckIn[]) => AppendAnswer = () => 'accepted';
  /** Promise that appends wait for. */
  gate: Promise<void> | undefined;
  private running = 0;

  async appendCheckIns(packed: CheckInPack): Promise<'accepted' | 'full'> {
    const batch = unpackCheckIns(packed);
    this.asked.push(batch);
    this.running += 1;
    this.runningMax = Math.max(this.runningMax, this.running);
    await (this.gate ?? new Promise((resolve) => setImmediate(resolve)));
    this.running -= 1;
    const answer = this.answer(batch);
    if (answer instanceof Error) throw answer;
    if (answer === 'accepted') this.accepted.push(...batch);
    return answer;
  }

  get devices(): string[] {
    return this.accepted.map(({ deviceId }) => deviceId);
  }
}

function setUp() {
  const queue = new FakeQueue();
  const metrics = new Metrics();
  const noted: CheckIn[] = [];
  const live = { notePacked: (batch: CheckInPack) => void noted.push(...unpackCheckIns(batch)) };
  const port = queue as unknown as CheckInQueue;
  const checkIns = new CheckInBuffer(port, live, metrics, createLog('silent'));
  const count = (outcome: string) => metrics.checkIns.counts.get(outcome) ?? 0;
  const fill = (from: number, to: number) => {
    for (let index = from; index < to; index++) addCheckIn(checkIns, checkInOf(`${index}`));
  };
  return { queue, metrics, noted, checkIns, count, fill };
}

/** Resolves once the callbacks of `setImmediate` have run. */
function turnOfLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}

function away(): Unavailable {
  return new Unavailable('engine', 'connection refused');
}

function numbers(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, index) => String(from + index));
}

afterEach(() => vi.useRealTimers());

describe('a turn', () => {
  it('sends all that devices said, in its order, and notes it for the live feed', async () => {
    const { queue, noted, checkIns, count } = setUp();
    const said = [
      checkInOf('a', { at: 1, version: '1.0.0', labels: new Map([['ring', 'beta']]) }),
      checkInOf('b', { at: 1 }),
      checkInOf('a', { at: 3, version: '1.2.0' }),
      checkInOf('a', { at: 2, version: '1.1.0', offeredReleaseId: 'rel_1' }),
    ];
    for (const checkIn of said) addCheckIn(checkIns, checkIn);
    expect(checkIns.size).toBe(4);
    expect(await checkIns.send()).toBe(true);
    expect(queue.accepted).toEqual(said);
    expect(noted).toEqual(said);
    expect([checkIns.size, count('accepted'), count('dropped')]).toEqual([0, 4, 0]);
    expect(await checkIns.send()).toBe(true);
    expect(queue.asked).toHaveLength(1);
  });

  it('has at most 8 batches of at most 2,000 under way', async () => {
    const { queue, checkIns, fill } = setUp();
    fill(0, 41_000);
    // Asked for while one runs, a turn is that one: batches are never sent twice.
    await Promise.all([checkIns.send(), checkIns.send(), checkIns.send()]);
    expect(queue.runningMax).toBe(BATCHES_IN_FLIGHT_MAX);
    expect(queue.asked.length).toBe(21);
    expect(Math.max(...queue.asked.map(({ length }) => length))).toBe(BATCH_SIZE_MAX);
    expect(queue.devices).toEqual(numbers(0, 41_000));
  });

  it('drops a batch that cannot be packed, counts it, and sends the others', async () => {
    const { queue, checkIns, count, fill } = setUp();
    fill(0, 4200);
    queue.answer = (batch) => (batch[0]?.deviceId === '2000' ? new TypeError('bad') : 'accepted');
    expect(await checkIns.send()).toBe(true);
    expect(queue.devices).toEqual([...numbers(0, 2000), ...numbers(4000, 4200)]);
    expect(count('accepted')).toBe(2200);
    expect(count('dropped')).toBe(2000);
    expect(checkIns.size).toBe(0);
  });
});

describe.each([
  ['away', away],
  ['full', () => 'full' as const],
])('when the engine is %s', (_, refuse) => {
  it('what comes meanwhile fills batches, and is sent with what was held before', async () => {
    const { queue, checkIns, fill } = setUp();
    queue.answer = refuse;
    for (let turn = 0; turn < 150; turn++) {
      fill(turn * 20, turn * 20 + 20);
      expect(await checkIns.send()).toBe(false);
    }
    queue.answer = () => 'accepted';
    const triedBefore = queue.asked.length;
    expect(await checkIns.send()).toBe(true);
    expect(queue.devices).toEqual(numbers(0, 3000));
    const sizes = queue.asked.slice(triedBefore).map((batch) => batch.length);
    expect(sizes).toEqual([20, BATCH_SIZE_MAX, 3000 - BATCH_SIZE_MAX - 20]);
  });

  it('no batch is tried after the first group that was refused', async () => {
    const { queue, checkIns, fill } = setUp();
    queue.answer = refuse;
    fill(0, 20 * BATCH_SIZE_MAX);
    await checkIns.send();
    expect(queue.asked.length).toBe(BATCHES_IN_FLIGHT_MAX);
  });

  it('only what was refused is sent again', async () => {
    const { queue, checkIns, count, fill } = setUp();
    queue.answer = (batch) => (batch[0]?.deviceId === '2000' ? refuse() : 'accepted');
    fill(0, 6000);
    expect(await checkIns.send()).toBe(false);
    expect(checkIns.size).toBe(2000);
    queue.answer = () => 'accepted';
    await checkIns.send();
    expect(queue.devices).toEqual([
      ...numbers(0, 2000),
      ...numbers(4000, 6000),
      ...numbers(2000, 4000),
    ]);
    expect(count('accepted')).toBe(6000);
  });
});

describe('the bound', () => {
  it('counts what is under way as held: what comes beyond the bound meanwhile is dropped, and counted', async () => {
    const { queue, checkIns, count, fill } = setUp();
    const { opened, open } = gate();
    queue.gate = opened;
    queue.answer = away;
    fill(0, HELD_MAX - 1000);
    const turn = checkIns.send();
    expect(checkIns.size).toBe(HELD_MAX - 1000);
    fill(HELD_MAX, HELD_MAX + 1250);
    expect(checkIns.size).toBe(HELD_MAX);
    expect(count('dropped')).toBe(250);
    open();
    expect(await turn).toBe(false);
    for (let refusal = 0; refusal < 2; refusal++) {
      fill(0, 10);
      expect(await checkIns.send()).toBe(false);
      expect(checkIns.size).toBe(HELD_MAX);
    }
    queue.answer = () => 'accepted';
    await checkIns.send();
    expect(count('dropped')).toBe(270);
    expect(queue.devices).toEqual([
      ...numbers(0, HELD_MAX - 1000),
      ...numbers(HELD_MAX, HELD_MAX + 1000),
    ]);
    expect(checkIns.size).toBe(0);
  });
});

describe('turns', () => {
  /** Starts the turns with faked timers and an engine that answers at once. */
  function startTurns() {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const all = setUp();
    all.queue.gate = Promise.resolve();
    all.checkIns.start(INTERVAL_MS);
    return all;
  }

  it('come at their interval; after a refusal, at that of a retry', async () => {
    const { queue, checkIns, fill } = startTurns();
    fill(0, 1);
    await vi.advanceTimersByTimeAsync(INTERVAL_MS - 1);
    expect(queue.asked.length).toBe(0);
    queue.answer = away;
    await vi.advanceTimersByTimeAsync(1);
    expect(queue.asked.length).toBe(1);
    queue.answer = () => 'accepted';
    await vi.advanceTimersByTimeAsync(RETRY_MS - 1);
    expect(queue.asked.length).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(queue.devices).toEqual(['0']);
    fill(1, 2);
    await vi.advanceTimersByTimeAsync(INTERVAL_MS);
    expect(queue.devices).toEqual(['0', '1']);
    await checkIns.stop();
  });

  it('do not keep a full batch waiting, and come at their interval from then', async () => {
    const { queue, checkIns, fill } = startTurns();
    await vi.advanceTimersByTimeAsync(INTERVAL_MS - 1);
    fill(0, BATCH_SIZE_MAX + 1);
    // The batch is not sent within the request that filled it.
    expect(queue.asked.length).toBe(0);
    await turnOfLoop();
    expect(queue.asked.map(({ length }) => length)).toEqual([BATCH_SIZE_MAX]);
    await vi.advanceTimersByTimeAsync(INTERVAL_MS - 1);
    expect(queue.asked.length).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(queue.devices).toEqual(numbers(0, BATCH_SIZE_MAX + 1));
    await checkIns.stop();
  });

  it('leave a full batch waiting while the engine refuses', async () => {
    const { queue, checkIns, fill } = startTurns();
    queue.answer = away;
    fill(0, 1);
    await vi.advanceTimersByTimeAsync(INTERVAL_MS);
    expect(queue.asked.length).toBe(1);
    fill(1, BATCH_SIZE_MAX + 1);
    await turnOfLoop();
    expect(queue.asked.length).toBe(1);
    queue.answer = () => 'accepted';
    await vi.advanceTimersByTimeAsync(RETRY_MS);
    expect(queue.devices).toEqual(numbers(0, BATCH_SIZE_MAX + 1));
    fill(BATCH_SIZE_MAX + 1, 2 * BATCH_SIZE_MAX + 1);
    await turnOfLoop();
    expect(queue.devices).toEqual(numbers(0, 2 * BATCH_SIZE_MAX + 1));
    await checkIns.stop();
  });

  it('end with stop, which sends what is held once, accepted or not', async () => {
    const { queue, checkIns, fill } = startTurns();
    queue.answer = away;
    fill(0, 3);
    await checkIns.stop();
    expect(queue.asked.map(({ length }) => length)).toEqual([3]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(queue.asked.length).toBe(1);
  });

  it('are repeated at stop until its deadline, and end once all is accepted', async () => {
    const { queue, checkIns, fill } = startTurns();
    queue.answer = away;
    fill(0, 3);
    const stopped = checkIns.stop(performance.now() + 4 * RETRY_MS);
    await vi.advanceTimersByTimeAsync(2 * RETRY_MS);
    queue.answer = () => 'accepted';
    await vi.advanceTimersByTimeAsync(RETRY_MS);
    await stopped;
    expect(queue.devices).toEqual(numbers(0, 3));
  });

  it('under way at stop are finished, and what came meanwhile is sent too', async () => {
    const { queue, checkIns, fill } = setUp();
    const { opened, open } = gate();
    queue.gate = opened;
    fill(0, 2);
    const turn = checkIns.send();
    fill(2, 4);
    const stopped = checkIns.stop();
    open();
    await Promise.all([turn, stopped]);
    expect(queue.asked.map(({ length }) => length)).toEqual([2, 2]);
    expect(queue.devices).toEqual(numbers(0, 4));
  });
});
