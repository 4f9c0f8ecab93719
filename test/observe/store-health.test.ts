// Tests what the log says of a store that is lost and comes back: one line for each, and none for a call that
// fails while others succeed.

import { expect, it, vi } from 'vitest';
import { StoreHealth } from '../../src/observe/store-health.ts';

function setUp() {
  let now = 0;
  const warn = vi.fn();
  const health = new StoreHealth('ledger', { warn }, undefined, () => now);
  return {
    health,
    lines: () => warn.mock.calls.map(([details, message]) => ({ message, ...details })),
    pass: (ms: number) => {
      now += ms;
    },
  };
}

it('a call that fails while others succeed is no outage', () => {
  const { health, lines, pass } = setUp();
  for (let second = 0; second < 60; second++) {
    pass(1000);
    health.failed(new Error('lock not available'));
    health.succeeded();
  }
  expect(health.outage).toBeUndefined();
  expect(lines()).toEqual([]);
});

it('one line when it is lost, one when it is back: how long it was away and how many calls failed', () => {
  const { health, lines, pass } = setUp();
  const error = new Error('connection refused');
  pass(2500);
  for (let call = 0; call < 300; call++) {
    health.failed(error);
    pass(100);
  }
  expect(lines()).toEqual([{ message: 'store lost', store: 'ledger', err: error }]);
  expect(health.outage).toMatchObject({ store: 'ledger', reason: 'connection refused' });
  const since = health.outage?.since;
  health.failed(new Error('no route'));
  expect(health.outage).toEqual({ store: 'ledger', reason: 'no route', since });
  health.succeeded();
  health.succeeded();
  expect(lines().slice(1)).toEqual([
    { message: 'store back', store: 'ledger', afterMs: 32_500, failedCalls: 301 },
  ]);
  expect(health.outage).toBeUndefined();
  expect(health.silentMs).toBe(0);
});
