// Tests that failed sign-ins reach the audit log, also those of a time in which the ledger does not answer.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FailedSignIns } from '../../src/access/sign-in-limits.ts';
import { RareLog } from '../../src/observe/rare-log.ts';
import type { FailedSignIn } from '../../src/store/account-ledger.ts';
import { ledgerAway } from '../support/fake-ledger.ts';

const DELAY_MS = 1000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function account(id: string) {
  return { id, email: `${id}@example.com` };
}

it('are written once the ledger answers again, with those that were noted meanwhile', async () => {
  const written: FailedSignIn[] = [];
  let isAway = false;
  const ledger = {
    async recordFailedSignIns(failed: FailedSignIn) {
      // It goes away in the middle of a batch.
      if (isAway || written.length === 1) throw ledgerAway();
      written.push(failed);
    },
  };
  const log = new RareLog({ warn: () => undefined });
  const failures = new FailedSignIns(ledger, log);
  for (const id of ['ada', 'ben', 'cleo']) failures.note(account(id), '192.0.2.1');
  await vi.advanceTimersByTimeAsync(DELAY_MS);
  expect(written.map((each) => each.account.id)).toEqual(['ada']);
  isAway = true;
  failures.note(account('ben'), '192.0.2.2');
  await vi.advanceTimersByTimeAsync(3 * DELAY_MS);
  isAway = false;
  written.length = 0;
  ledger.recordFailedSignIns = async (failed) => void written.push(failed);
  await vi.advanceTimersByTimeAsync(DELAY_MS);
  expect(written).toEqual([
    { account: account('ben'), failures: 2, address: '192.0.2.2' },
    { account: account('cleo'), failures: 1, address: '192.0.2.1' },
  ]);
});
