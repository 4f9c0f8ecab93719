// Tests which processes the watchdog kills (docs/operating/processes.md), with children that answer when the
// test says so.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WATCHDOG_LIMITS, Watchdog } from '../../src/node/processes/supervised-process.ts';

/** Process under watch, whose answers the test gives. */
class FakeProcess {
  child: { call(): Promise<unknown> } | undefined;
  isReady = false;
  readonly killedAfterMs: number[] = [];
  private answers: (() => void)[] = [];

  constructor() {
    this.launch();
  }

  launch(): void {
    this.isReady = false;
    this.answers = [];
    this.child = {
      call: () => new Promise<void>((resolve) => this.answers.push(resolve)),
    };
  }

  async answer(): Promise<void> {
    for (const resolve of this.answers.splice(0)) resolve();
    // Lets the watchdog take note.
    await Promise.resolve();
    await Promise.resolve();
  }

  killHung(silentMs: number): void {
    this.killedAfterMs.push(silentMs);
  }
}

let one: FakeProcess;
let other: FakeProcess;
let watchdog: Watchdog;

beforeEach(() => {
  vi.useFakeTimers();
  [one, other] = [new FakeProcess(), new FakeProcess()];
  watchdog = new Watchdog([one, other]);
});
afterEach(() => {
  watchdog.stop();
  vi.useRealTimers();
});

/** Lets seconds pass in which the named processes answer every question. */
async function pass(seconds: number, ...answering: readonly FakeProcess[]): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    vi.advanceTimersByTime(1000);
    for (const each of answering) await each.answer();
  }
}

describe('a process that answered before', () => {
  it('is killed once, after 10 s without an answer; the others stay', async () => {
    await pass(5, one, other);
    await pass(10, other);
    expect(one.killedAfterMs).toEqual([]);
    await pass(1, other);
    expect(one.killedAfterMs).toEqual([10_000]);
    await pass(30, other);
    expect([one.killedAfterMs, other.killedAfterMs]).toEqual([[10_000], []]);
  });

  it('is not killed when it answers after 9 s, however often that happens', async () => {
    for (let round = 0; round < 5; round++) {
      await pass(9, other);
      await pass(1, one, other);
    }
    expect(one.killedAfterMs).toEqual([]);
  });

  it('that is replaced is watched anew', async () => {
    await pass(1, one, other);
    await pass(11, other);
    one.child = undefined;
    await pass(3, other);
    one.launch();
    await pass(3, one, other);
    await pass(11, other);
    expect(one.killedAfterMs).toEqual([10_000, 10_000]);
  });
});

it('a process that has not answered yet has 60 s to load', async () => {
  await pass(60, other);
  expect(one.killedAfterMs).toEqual([]);
  await pass(1, other);
  expect(one.killedAfterMs).toEqual([60_000]);
});

it('a process that is ready has 10 s, also when it hangs before its first question', async () => {
  one.isReady = true;
  await pass(10, other);
  expect(one.killedAfterMs).toEqual([]);
  await pass(1, other);
  expect(one.killedAfterMs).toEqual([10_000]);
});

it('a machine that stood still, however long and often, costs no process its life', async () => {
  await pass(2, one, other);
  for (let round = 0; round < 5; round++) {
    // Nobody runs: an hour passes on the clock, and the late timer of this process rings once.
    vi.setSystemTime(Date.now() + 3_600_000);
    await pass(5);
    await pass(1, one, other);
  }
  expect([...one.killedAfterMs, ...other.killedAfterMs]).toEqual([]);
});

it('a watch that has ended kills nobody', async () => {
  await pass(2, one, other);
  watchdog.stop();
  await pass(60);
  expect(one.killedAfterMs).toEqual([]);
  expect(WATCHDOG_LIMITS.silenceMsMax).toBe(10_000);
});
