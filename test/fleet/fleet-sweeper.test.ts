// Tests the sweep of silent devices: it goes by the ledger's clock, because a node's may be wrong by years.

import { expect, it } from 'vitest';
import { LIMIT } from '../../src/contract/limit.ts';
import { sweeps } from '../../src/fleet/fleet-sweeper.ts';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import type { Ledger } from '../../src/store/ledger.ts';
import { ledgerAway } from '../support/fake-ledger.ts';

const NOON = Date.UTC(2025, 5, 15, 12);

/** What is due, by the call that deletes it: so many each time. */
type Due = Partial<Record<'trimHistories' | 'forgetAudit' | 'forgetErasures', number>> & {
  readonly devices?: number;
  readonly auditDays?: number;
};

function setUp(readTime: () => Promise<number>, { devices = 0, auditDays, ...due }: Due = {}) {
  const asked: Record<string, unknown[]> = {};
  const ask =
    (name: string) =>
    async (...limits: unknown[]) => {
      asked[name] = limits;
      return name === 'sweepFleet' ? { devices, hours: 0 } : (due[name as 'forgetAudit'] ?? 0);
    };
  const ledger = new Proxy(
    { readTime },
    { get: (own, name: 'readTime') => own[name] ?? ask(name) },
  );
  const metrics = new Metrics();
  const retention = { devicesDays: 10, hoursDays: 1, auditDays };
  const sweeper = sweeps(ledger as unknown as Ledger, retention, metrics, createLog('silent'));
  return { sweeper, asked, metrics };
}

it('devices and hours are old by the clock of the ledger', async () => {
  const { sweeper, asked } = setUp(async () => NOON, { devices: 1000 });
  expect(await sweeper.turn()).toBe(true);
  const times = ['2025-06-05T12:00:00.000Z', '2025-06-14T12:00:00.000Z'];
  expect(asked.sweepFleet).toEqual([...times, 1000]);
});

it('more version changes may be due when a turn deleted as many as it may', async () => {
  for (const [trimHistories, hasMore] of [
    [1000, true],
    [999, false],
    [0, false],
  ] as const) {
    expect(await setUp(async () => NOON, { trimHistories }).sweeper.turn()).toBe(hasMore);
  }
});

it('entries of the audit are kept for ever, unless AUDIT_DAYS says for how long', async () => {
  const kept = setUp(async () => NOON);
  await kept.sweeper.turn();
  expect(kept.asked.forgetAudit).toBeUndefined();
  const due = { auditDays: 30, forgetAudit: 1000 };
  const { sweeper, asked, metrics } = setUp(async () => NOON, due);
  expect(await sweeper.turn()).toBe(true);
  expect(asked.forgetAudit).toEqual(['2025-05-16T12:00:00.000Z', 1000]);
  expect((await metrics.auditRemoved.get()).values).toMatchObject([{ value: 1000 }]);
});

it('nothing is swept while that clock cannot be read', async () => {
  const { sweeper, asked, metrics } = setUp(async () => {
    throw ledgerAway();
  });
  expect(await sweeper.turn()).toBe(false);
  expect(asked).toEqual({});
  expect(metrics.faults.counts.get('sweep')).toBe(1);
});

it('an erasure is forgotten once no check-in from before it is recorded any more (§4.23)', async () => {
  const { sweeper, asked } = setUp(async () => NOON, { forgetErasures: 1000 });
  expect(await sweeper.turn()).toBe(true);
  const before = NOON - (LIMIT.checkInAgeDaysMax + 1) * 86_400_000;
  expect(asked.forgetErasures).toEqual([new Date(before).toISOString(), 1000]);
});
