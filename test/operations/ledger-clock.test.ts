// Tests the ledger's clock as a process knows it: right to within a round trip, whatever its own clock shows.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { LedgerClock } from '../../src/operations/fleet/ledger-clock.ts';
import { ledgerAway } from '../support/fake-ledger.ts';

/** A ledger and a process whose clocks a test sets; an answer takes `thereMs` and `backMs`. */
function setUp() {
  const time = { ledgerMs: 1_000_000, aheadMs: 0, thereMs: 0, backMs: 0, isAway: false };
  const start = time.ledgerMs;
  const ledger = {
    async readTime() {
      time.ledgerMs += time.thereMs;
      const read = time.ledgerMs;
      time.ledgerMs += time.backMs;
      if (time.isAway) throw ledgerAway();
      return read;
    },
  };
  const clock = new LedgerClock(
    ledger,
    () => time.ledgerMs + time.aheadMs,
    () => time.ledgerMs - start,
  );
  return { time, clock };
}

it('before the first comparison it is the clock of the process', async () => {
  const { time, clock } = setUp();
  time.aheadMs = 5000;
  expect(clock.now()).toBe(time.ledgerMs + 5000);
  expect(clock.aheadMs).toBeUndefined();
  time.isAway = true;
  await expect(clock.compare()).rejects.toThrow();
  expect(clock.aheadMs).toBeUndefined();
});

it('it is right to within half a round trip, whatever the clock of the process is', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: -1e10, max: 1e10 }),
      fc.nat(3000),
      fc.nat(3000),
      async (aheadMs, thereMs, backMs) => {
        const { time, clock } = setUp();
        Object.assign(time, { aheadMs, thereMs, backMs });
        await clock.compare();
        const error = Math.abs(clock.now() - time.ledgerMs);
        // A clock that may be right is believed: it differs by less than the round trip.
        const isBelieved = clock.aheadMs === 0;
        expect(error).toBeLessThanOrEqual((thereMs + backMs) / (isBelieved ? 1 : 2) + 1);
      },
    ),
  );
});

it('a slow answer does not spoil what a quick one told', async () => {
  const { time, clock } = setUp();
  Object.assign(time, { aheadMs: -3000, thereMs: 1, backMs: 1 });
  await clock.compare();
  const { aheadMs } = clock;
  Object.assign(time, { thereMs: 0, backMs: 4000 });
  await clock.compare();
  expect(clock.aheadMs).toBe(aheadMs);
});

it('a clock that is put right, or jumps, is noticed with the next comparison', async () => {
  const { time, clock } = setUp();
  for (const aheadMs of [3_600_000, 0, -86_400_000, 0]) {
    time.aheadMs = aheadMs;
    await clock.compare();
    expect(clock.aheadMs).toBe(aheadMs);
    expect(clock.now()).toBe(time.ledgerMs);
  }
});
