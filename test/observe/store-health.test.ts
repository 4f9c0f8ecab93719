// Tests what the log says of a store that is lost and comes back: one line for each, and none for a call that
// fails while others succeed.

import { expect, it, vi } from 'vitest';
import { Unavailable, Unexamined } from '../../src/contract/unavailable.ts';
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
  const error = Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:5432'), {
    code: 'ECONNREFUSED',
  });
  pass(2500);
  for (let call = 0; call < 300; call++) {
    health.failed(error);
    pass(100);
  }
  expect(lines()).toEqual([
    {
      ...{ message: 'store lost', store: 'ledger' },
      ...{
        reason: 'PostgreSQL refuses the connection',
        detail: 'connect ECONNREFUSED 10.0.0.7:5432',
      },
    },
  ]);
  expect(health.outage).toMatchObject({
    store: 'ledger',
    reason: 'PostgreSQL refuses the connection',
  });
  const since = health.outage?.since;
  health.failed(Object.assign(new Error('no route'), { code: 'EHOSTUNREACH' }));
  expect(health.outage).toEqual({
    store: 'ledger',
    reason: 'PostgreSQL is at a host that cannot be reached',
    since,
  });
  health.succeeded();
  health.succeeded();
  expect(lines().slice(1)).toEqual([
    { message: 'store back', store: 'ledger', afterMs: 32_500, failedCalls: 301 },
  ]);
  expect(health.outage).toBeUndefined();
  expect(health.silentMs).toBe(0);
});

it('a store that has no room is full until the same operation succeeds, or nothing was refused for long', () => {
  const { health, lines, pass } = setUp();
  const full = new Unavailable(
    'ledger',
    Object.assign(new Error('could not extend'), { code: '53100' }),
  );
  health.failed(full, 'publishRelease');
  health.succeeded('findKey');
  health.failed(full, 'publishRelease');
  const reason = 'PostgreSQL has no room left on its disk';
  expect([health.isFull, health.isLost, health.outage?.reason]).toEqual([true, false, reason]);
  health.succeeded('publishRelease');
  expect([health.isFull, health.outage]).toEqual([false, undefined]);
  expect(lines()).toEqual([
    { message: 'store refuses writes', store: 'ledger', reason, detail: 'could not extend' },
    { message: 'store takes writes again', store: 'ledger' },
  ]);
  health.failed(full, 'publishRelease');
  pass(5 * 60_000);
  expect(health.isFull).toBe(false);
});

it('a database that is being examined is told once it is known what it is, and else after ten seconds', () => {
  const { health, lines, pass } = setUp();
  pass(5000);
  health.failed(new Unexamined());
  expect(health.outage).toBeUndefined();
  health.failed(new Unavailable('ledger', Object.assign(new Error('x'), { code: '3D000' })));
  health.failed(new Unexamined());
  expect(health.outage?.reason).toBe('PostgreSQL has no database of this name');
  health.succeeded();
  pass(10_000);
  health.failed(new Unexamined());
  const examined = 'PostgreSQL: the address leads to another database, which is being examined';
  expect(lines().map(({ message, reason }) => [message, reason])).toEqual([
    ['store lost', 'PostgreSQL has no database of this name'],
    ['store back', undefined],
    ['store lost', examined],
  ]);
});
