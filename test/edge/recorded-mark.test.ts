// Tests from when on an edge takes what it has uploaded for recorded.

import { expect, it } from 'vitest';
import { RecordedMark } from '../../src/edge/journal-sender.ts';

const BUFFERED_MS = 300;

function setUp() {
  const journal = { ageMs: 0 };
  const time = { now: 100_000 };
  const mark = new RecordedMark(journal, () => time.now);
  /** Whether the edge has at each tick what came of all that it had uploaded. */
  let isFollowed = true;
  /** Lets time pass, with a tick every half second. */
  const pass = (ms: number, ageMs: (now: number) => number = () => 0) => {
    for (const end = time.now + ms; time.now < end; ) {
      time.now += 500;
      journal.ageMs = ageMs(time.now);
      mark.tick();
      if (isFollowed) mark.follow(time.now);
    }
  };
  const followsNot = () => {
    isFollowed = false;
  };
  return { time, mark, pass, followsNot };
}

it('nothing is on record before it was watched for the time of a recording', () => {
  const { mark, pass } = setUp();
  expect(mark.before).toBe(Number.NEGATIVE_INFINITY);
  pass(4000);
  expect(mark.before).toBe(Number.NEGATIVE_INFINITY);
  pass(500);
  expect(mark.before).toBe(100_500 - BUFFERED_MS);
});

it('what was uploaded is on record four seconds later', () => {
  const { time, mark, pass } = setUp();
  pass(60_000);
  expect(mark.before).toBe(time.now - 4000 - BUFFERED_MS);
});

it('what waits for the upstream is not on record, nor before four seconds after it was taken', () => {
  const { time, mark, pass } = setUp();
  pass(10_000);
  const awayAt = time.now;
  pass(600_000, (now) => now - awayAt);
  expect(mark.before).toBe(awayAt - BUFFERED_MS);
  pass(4000);
  expect(mark.before).toBe(awayAt - BUFFERED_MS);
  const takenAt = time.now - 3500;
  pass(500);
  expect(mark.before).toBe(takenAt - BUFFERED_MS);
});

it('what the upstream has not recorded is not on record, however long ago it was taken', () => {
  const { time, mark, pass, followsNot } = setUp();
  pass(10_000);
  followsNot();
  const stuckAt = time.now;
  pass(20_000);
  expect(mark.before).toBe(stuckAt - BUFFERED_MS);
  mark.follow(stuckAt + 1200);
  expect(mark.before).toBe(stuckAt + 1000 - BUFFERED_MS);
  // Longer than moments are kept: nothing is taken for recorded until the upstream has caught up.
  pass(600_000);
  expect(mark.before).toBe(stuckAt + 1000 - BUFFERED_MS);
  mark.follow(time.now - 5000);
  expect(mark.before).toBe(time.now - 5000 - BUFFERED_MS);
  // Another answer may be late.
  mark.follow(stuckAt);
  expect(mark.before).toBe(time.now - 5000 - BUFFERED_MS);
});
