// Tests what the log says of a store that is lost and comes back: one line for each, and none for a call that
// fails while others succeed.

import { expect, it, vi } from 'vitest';
import { Unavailable, Unexamined } from '../../src/contract/store-fault.ts';
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

function refusal(message: string, code: string): Unavailable {
  return new Unavailable('ledger', Object.assign(new Error(message), { code }));
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
    isOfWrites: false,
  });
  health.succeeded();
  health.succeeded();
  expect(lines().slice(1)).toEqual([
    { message: 'store back', store: 'ledger', afterMs: 32_500, failedCalls: 301 },
  ]);
  expect(health.outage).toBeUndefined();
  expect(health.silentMs).toBe(0);
});

it('a store that refuses writes is told once, until a trial write succeeds: reads say nothing', () => {
  const { health, lines, pass } = setUp();
  const full = refusal('could not extend', '53100');
  health.failed(full);
  pass(6000);
  health.succeeded();
  health.failed(full);
  const reason = 'PostgreSQL has no room left on its disk';
  expect(health).toMatchObject({ isFull: true, refusesWrites: true, isLost: false });
  expect(health.outage).toMatchObject({ reason, isOfWrites: true });
  pass(3_600_000);
  health.failed(full);
  pass(6000);
  health.tookWrite();
  expect(health).toMatchObject({ isFull: false, refusesWrites: false, outage: undefined });
  expect(lines()).toEqual([
    { message: 'store refuses writes', store: 'ledger', reason, detail: 'could not extend' },
    { message: 'store takes writes again', store: 'ledger' },
  ]);
});

it('a store that refuses a right is not lost, however long no call succeeds: it answers', () => {
  const { health, pass } = setUp();
  pass(60_000);
  health.failed(refusal('permission denied for table devices', '42501'));
  expect(health).toMatchObject({ refusesWrites: true, isLost: false });
  expect(health.outage?.reason).toBe('PostgreSQL refuses the account what it needs');
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
