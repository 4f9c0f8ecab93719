// Tests the times at which keys were last used: written off the request's path, once a minute, and never lost
// for good.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLog } from '../../src/observe/log.ts';
import { RareLog } from '../../src/observe/rare-log.ts';
import { KeyUses } from '../../src/operations/access/key-uses.ts';
import type { KeyUse } from '../../src/ports/console-ledger.ts';

let written: (readonly KeyUse[])[];
let fault: Error | undefined;
let uses: KeyUses;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date', 'performance'] });
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

it('many uses within a minute are one write, a second later', async () => {
  for (let count = 0; count < 100; count++) uses.note('key_1', '192.0.2.1');
  uses.note('key_2', '192.0.2.1');
  expect(written).toEqual([]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(written.map((batch) => batch.map(({ id }) => id))).toEqual([['key_1', 'key_2']]);
  uses.note('key_1', '192.0.2.1');
  await vi.advanceTimersByTimeAsync(5000);
  expect(written).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(60_000);
  uses.note('key_1', '192.0.2.1');
  await vi.advanceTimersByTimeAsync(1000);
  expect(written).toHaveLength(2);
});

it('a write that failed is made good by the next use', async () => {
  fault = new Error('away');
  uses.note('key_1', '192.0.2.1');
  await vi.advanceTimersByTimeAsync(1000);
  fault = undefined;
  uses.note('key_1', '192.0.2.1');
  await vi.advanceTimersByTimeAsync(1000);
  expect(written).toHaveLength(1);
});

it('what is left is written at the end', async () => {
  uses.note('key_1', '192.0.2.1');
  await uses.stop();
  expect(written).toHaveLength(1);
});
