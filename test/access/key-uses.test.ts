// Tests when and from where keys were last used: written off the request's path, once a minute from the same
// address, and never lost for good.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { KeyUses } from '../../src/access/api-keys.ts';
import { createLog } from '../../src/observe/log.ts';
import { RareLog } from '../../src/observe/rare-log.ts';
import type { KeyUse } from '../../src/store/console-ledger.ts';

let written: (readonly KeyUse[])[];
let fault: Error | undefined;
let uses: KeyUses;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
  written = [];
  fault = undefined;
  const ledger = {
    async recordKeyUses(batch: readonly KeyUse[]) {
      if (fault !== undefined) throw fault;
      written.push(batch);
    },
  };
  uses = new KeyUses(ledger, new RareLog(createLog('silent')));
  uses.start();
});

afterEach(async () => {
  await uses.stop();
  vi.useRealTimers();
});

/** Ids and addresses of all that was written. */
function all(): string[] {
  return written.flatMap((batch) => batch.map(({ id, from }) => `${id} ${from}`));
}

it('many uses from one address within a minute are one write, a second later', async () => {
  for (let count = 0; count < 100; count++) uses.note('key_1', '192.0.2.1');
  uses.note('key_2', '192.0.2.1');
  expect(written).toEqual([]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(written.map((batch) => batch.map(({ id }) => id))).toEqual([['key_1', 'key_2']]);
  await vi.advanceTimersByTimeAsync(65_000);
  expect(written).toHaveLength(1);
  uses.note('key_1', '192.0.2.1');
  await vi.advanceTimersByTimeAsync(1000);
  expect(written).toHaveLength(2);
});

it('the last of them is written as well, when the minute is over', async () => {
  uses.note('key_1', '192.0.2.1');
  await vi.advanceTimersByTimeAsync(30_000);
  uses.note('key_1', '192.0.2.1');
  const last = new Date().toISOString();
  await vi.advanceTimersByTimeAsync(29_000);
  expect(written).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(2000);
  expect(written.flat().map(({ at }) => at)).toEqual([expect.any(String), last]);
});

it('another address is written at once, and so is the one that comes back', async () => {
  uses.note('key_1', '192.0.2.1');
  uses.note('key_1', '198.51.100.7');
  await vi.advanceTimersByTimeAsync(1000);
  expect(all()).toEqual(['key_1 198.51.100.7']);
  uses.note('key_1', '192.0.2.1');
  await vi.advanceTimersByTimeAsync(1000);
  expect(all()).toEqual(['key_1 198.51.100.7', 'key_1 192.0.2.1']);
  // Two in turn are one write a second.
  for (let count = 0; count < 100; count++) uses.note('key_1', `192.0.2.${1 + (count % 2)}`);
  await vi.advanceTimersByTimeAsync(1000);
  expect(all().slice(2)).toEqual(['key_1 192.0.2.2']);
});

it('a write that failed is tried again, unless there is a later use', async () => {
  fault = new Error('away');
  uses.note('key_1', '192.0.2.1');
  uses.note('key_2', '192.0.2.1');
  await vi.advanceTimersByTimeAsync(1000);
  uses.note('key_1', '192.0.2.2');
  fault = undefined;
  await vi.advanceTimersByTimeAsync(1000);
  expect(all().sort()).toEqual(['key_1 192.0.2.2', 'key_2 192.0.2.1']);
});

it('what is left is written at the end', async () => {
  uses.note('key_1', '192.0.2.1');
  await vi.advanceTimersByTimeAsync(1000);
  uses.note('key_1', '192.0.2.1');
  uses.note('key_2', '192.0.2.2');
  await uses.stop();
  expect(all()).toEqual(['key_1 192.0.2.1', 'key_2 192.0.2.2', 'key_1 192.0.2.1']);
});
