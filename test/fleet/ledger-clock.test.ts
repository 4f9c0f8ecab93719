// Tests the ledger's clock as a process knows it: right to within a round trip, whatever the machine's clock
// shows.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { LedgerClock } from '../../src/fleet/ledger-clock.ts';
import { ledgerAway } from '../support/fake-ledger.ts';

/** A ledger and a machine whose clocks a test sets; an answer takes `thereMs` and `backMs`. */
function setUp(aheadMs = 0) {
  const time = {
    ledgerMs: 1_000_000,
    stopwatchMs: 77,
    aheadMs,
    thereMs: 0,
    backMs: 0,
    isAway: false,
  };
  const pass = (ms: number): void => {
    time.ledgerMs += ms;
    time.stopwatchMs += ms;
  };
  const ledger = {
    async readTime() {
      pass(time.thereMs);
      const read = time.ledgerMs;
      pass(time.backMs);
      if (time.isAway) throw ledgerAway();
      return read;
    },
  };
  const clock = new LedgerClock(
    ledger,
    () => time.ledgerMs + time.aheadMs,
    () => time.stopwatchMs,
  );
  return { time, pass, clock };
}

it('before the first comparison it is the clock of the machine', async () => {
  const { time, pass, clock } = setUp(5000);
  pass(1234);
  expect(clock.now()).toBe(time.ledgerMs + 5000);
  expect(clock.aheadMs).toBeUndefined();
  time.isAway = true;
  await expect(clock.compare()).rejects.toThrow();
  expect(clock.aheadMs).toBeUndefined();
});

it('a reading of the stopwatch stands for a new one', async () => {
  const { time, pass, clock } = setUp(0);
  await clock.compare();
  const { ledgerMs, stopwatchMs } = time;
  pass(1234);
  expect(clock.now(stopwatchMs)).toBe(ledgerMs);
  expect(clock.now()).toBe(ledgerMs + 1234);
});

it('it is right to within half a round trip, whatever the clock of the machine is', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: -1e10, max: 1e10 }),
      fc.nat(3000),
      fc.nat(3000),
      async (aheadMs, thereMs, backMs) => {
        const { time, clock } = setUp(aheadMs);
        Object.assign(time, { thereMs, backMs });
        await clock.compare();
        const error = Math.abs(clock.now() - time.ledgerMs);
        // A clock that may be right is believed: it differs by less than the round trip.
        const isBelieved = clock.aheadMs === 0;
        expect(error).toBeLessThanOrEqual((thereMs + backMs) / (isBelieved ? 1 : 2));
      },
    ),
  );
});

it('a slow answer does not spoil what a quick one told', async () => {
  const { time, pass, clock } = setUp(-3000);
  Object.assign(time, { thereMs: 1, backMs: 1 });
  await clock.compare();
  const error = clock.now() - time.ledgerMs;
  pass(5000);
  Object.assign(time, { thereMs: 0, backMs: 4000 });
  await clock.compare();
  expect(clock.now() - time.ledgerMs).toBe(error);
});

it('a jump of the machine changes nothing but the difference, one of the ledger is followed', async () => {
  const { time, pass, clock } = setUp();
  await clock.compare();
  for (const aheadMs of [3_600_000, 0, -86_400_000, 0]) {
    time.aheadMs = aheadMs;
    pass(10);
    expect([clock.now(), clock.aheadMs]).toEqual([time.ledgerMs, aheadMs]);
  }
  for (const jumpMs of [-5000, 86_400_000]) {
    time.ledgerMs += jumpMs;
    await clock.compare();
    expect(clock.now()).toBe(time.ledgerMs);
  }
});
