// Tests the words for faults of stores: which store, why, and no address or account.

import { describe, expect, it } from 'vitest';
import {
  isFull,
  Overloaded,
  refusesWrites,
  Unavailable,
  whenAway,
} from '../../src/contract/store-fault.ts';

function fault(message: string, code?: string): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}

describe('an unavailable store', () => {
  it.each([
    ['ledger', fault('password authentication failed for user "x"', '28P01'), 'refuses the login'],
    ['ledger', fault('role "x" is not permitted to log in', '28000'), 'refuses the login'],
    ['ledger', fault('database "x" does not exist', '3D000'), 'has no database of this name'],
    ['ledger', fault('database "x" is not accepting', '55000'), 'lets nobody into the database'],
    ['ledger', fault('could not extend file', '53100'), 'has no room left on its disk'],
    ['ledger', fault('connect 10.0.0.7:5432', 'ECONNREFUSED'), 'refuses the connection'],
    ['ledger', fault('Query read timeout'), 'does not answer in time'],
    ['ledger', fault('canceling statement', '57014'), 'does not answer in time'],
    ['ledger', fault('the database system is starting up', '57P03'), 'is starting or stopping'],
    ['ledger', fault('Connection terminated unexpectedly'), 'has closed the connection'],
    ['ledger', fault('what nobody has foreseen at 10.0.0.7'), 'cannot be used'],
    ['engine', fault('WRONGPASS invalid username-password pair'), 'refuses the login'],
    ['engine', fault('OOM command not allowed'), 'has no memory left'],
    [
      ...(['engine', fault('NOREPLICAS Not enough good replicas')] as const),
      'refuses writes: too few of its replicas are there',
    ],
    ['ledger', fault('x', '25006'), 'refuses writes: it is read-only, or a standby'],
    ['engine', fault('Command timed out'), 'does not answer in time'],
  ] as const)('%s: %s', (store, cause, why) => {
    const name = store === 'ledger' ? 'PostgreSQL' : 'Redis';
    expect(new Unavailable(store, cause).message).toBe(`${name} ${why}`);
  });

  it('says nothing twice, and keeps what the driver said for the log', () => {
    const cause = fault('connect ECONNREFUSED 10.0.0.7:5432', 'ECONNREFUSED');
    const error = new Unavailable('ledger', new Unavailable('ledger', cause));
    expect(error).toMatchObject({ message: 'PostgreSQL refuses the connection', cause });
    expect(error.detail).toBe('connect ECONNREFUSED 10.0.0.7:5432');
  });

  it('is not blamed for a wait in this process, and is full when its disk or memory is', () => {
    const message = 'this process is busy: 200 calls wait for their turn';
    const busy = new Overloaded('200 calls wait for their turn');
    expect(busy).toMatchObject({ store: 'process', message });
    expect([fault('x', '53100'), fault('OOM x'), fault('MISCONF x')].every(isFull)).toBe(true);
    expect([fault('x', '28P01'), fault('x', '25006'), 'full', undefined].some(isFull)).toBe(false);
  });

  it.each([
    fault('read-only transaction', '25006'),
    fault('could not extend file', '53100'),
    fault("READONLY You can't write against a read only replica. script: f, on @user_script:1."),
    // Redis 6, in a script.
    fault("ERR Error running script (call to f_1): @user_script:1: -READONLY You can't write"),
    fault('ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed'),
    fault('MISCONF Redis is configured to save RDB snapshots, but is unable to persist on disk'),
    fault('NOREPLICAS Not enough good replicas to write.'),
    fault('permission denied for table devices', '42501'),
  ])('refuses writes: $message', (cause) => {
    expect(refusesWrites(cause)).toBe(true);
  });

  it('that refuses the login or is away is more than one that refuses writes', () => {
    const others = [fault('x', '28P01'), fault('x', 'ECONNREFUSED')];
    expect([...others, fault('MASTERDOWN x'), undefined].some(refusesWrites)).toBe(false);
  });
});

it('a handler of outages answers for a store that is away, and passes on any other error', async () => {
  const away = new Unavailable('ledger', new Error('connection refused'));
  const bug = new TypeError('a bug');
  const handled = (error: unknown) => Promise.reject(error).catch(whenAway((fault) => fault.store));
  expect(await handled(away)).toBe('ledger');
  await expect(handled(bug)).rejects.toBe(bug);
});
