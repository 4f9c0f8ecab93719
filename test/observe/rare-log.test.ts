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

it('the first of a kind is logged as it is; the next line of it, a second later, says what it stands for', () => {
  const { log, lines, clock } = rareLog();
  const details = Object.freeze({ channel: 'a' });
  for (let time = 0; time < 5; time++) log.warn(details, 'away');
  clock.now = 999;
  log.warn(details, 'away');
  // The second is counted from the line, not from what it silenced.
  for (const now of [1000, 2000]) {
    clock.now = now;
    log.warn(details, 'away');
  }
  expect(lines).toEqual([
    [{ channel: 'a' }, 'away'],
    [{ channel: 'a', suppressed: 5 }, 'away'],
    [{ channel: 'a' }, 'away'],
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

it('messages without end do not grow it without end, and are logged', () => {
  const { log, lines } = rareLog();
  for (let index = 0; index < 5000; index++) log.warn({}, `message ${index}`);
  expect(lines).toHaveLength(5000);
});
