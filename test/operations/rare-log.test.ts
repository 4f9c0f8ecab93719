// Tests the log for floods: one line a second for each kind, and every message counted.

import { expect, it } from 'vitest';
import { RareLog } from '../../src/observe/rare-log.ts';

type Line = readonly [details: unknown, message: string | undefined];

function rareLog() {
  const lines: Line[] = [];
  const clock = { now: 0 };
  const warn = (details: unknown, message?: string): void => void lines.push([details, message]);
  return { lines, clock, log: new RareLog({ warn }, () => clock.now) };
}

it('the first of a kind is logged as it is, the others of that second are not', () => {
  const { log, lines, clock } = rareLog();
  log.warn({ channel: 'a' }, 'away');
  for (let time = 0; time < 1000; time++) log.warn({ channel: 'b' }, 'away');
  clock.now = 999;
  log.warn({ channel: 'c' }, 'away');
  expect(lines).toEqual([[{ channel: 'a' }, 'away']]);
});

it('the next line says how many it stands for, and the one after it counts anew', () => {
  const { log, lines, clock } = rareLog();
  for (let time = 0; time < 5; time++) log.warn({ time }, 'away');
  clock.now = 1000;
  log.warn({ time: 5 }, 'away');
  clock.now = 2000;
  log.warn({ time: 6 }, 'away');
  expect(lines).toEqual([
    [{ time: 0 }, 'away'],
    [{ time: 5, suppressed: 4 }, 'away'],
    [{ time: 6 }, 'away'],
  ]);
});

it('a kind does not silence another', () => {
  const { log, lines } = rareLog();
  for (const message of ['ledger away', 'engine away', 'ledger away']) log.warn({}, message);
  expect(lines.map(([, message]) => message)).toEqual(['ledger away', 'engine away']);
});

it('of each subject there is a line, and the next one a minute later', () => {
  const { log, lines, clock } = rareLog();
  for (clock.now = 0; clock.now < 60_000; clock.now += 1000) {
    for (const release of ['1.0.0', '1.1.0']) log.warnAbout(release, { release }, 'too slow');
  }
  log.warnAbout('1.0.0', { release: '1.0.0' }, 'too slow');
  expect(lines).toEqual([
    [{ release: '1.0.0' }, 'too slow'],
    [{ release: '1.1.0' }, 'too slow'],
    [{ release: '1.0.0', suppressed: 59 }, 'too slow'],
  ]);
});

it('a second is counted from the line, not from what it silenced', () => {
  const { log, lines, clock } = rareLog();
  for (clock.now = 0; clock.now < 5000; clock.now += 100) log.warn({}, 'away');
  expect(lines).toHaveLength(5);
});

it('messages without end do not grow it without end, and are logged', () => {
  const { log, lines } = rareLog();
  for (let index = 0; index < 5000; index++) log.warn({}, `message ${index}`);
  expect(lines).toHaveLength(5000);
});

it('the details of a caller are left as they are', () => {
  const { log, clock } = rareLog();
  const details = Object.freeze({ channel: 'a' });
  log.warn(details, 'away');
  log.warn(details, 'away');
  clock.now = 1000;
  log.warn(details, 'away');
  expect(details).toEqual({ channel: 'a' });
});
