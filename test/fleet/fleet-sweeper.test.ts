// Tests the sweep of silent devices: it goes by the ledger's clock, because a node's may be wrong by years.

import { expect, it } from 'vitest';
import { LIMIT } from '../../src/contract/limit.ts';
import { sweeps } from '../../src/fleet/fleet-sweeper.ts';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { ledgerAway } from '../support/fake-ledger.ts';

const NOON = Date.UTC(2025, 5, 15, 12);

type Due = {
  devices?: number;
  changes?: number;
  auditDays?: number;
  entries?: number;
  erasures?: number;
};

function setUp(readTime: () => Promise<number>, due: Due = {}) {
  const swept: unknown[] = [];
  const forgotten: unknown[] = [];
  const erasures: unknown[] = [];
  const metrics = new Metrics();
  const ledger = {
    readTime,
    async sweepFleet(...limits: unknown[]) {
      swept.push(limits);
      return { devices: due.devices ?? 0, hours: 0 };
    },
    async trimHistories() {
      return due.changes ?? 0;
    },
    async forgetAdmissions() {
      return 0;
    },
    async forgetIdempotencyKeys() {
      return 0;
    },
    async sweepApprovals() {
      return 0;
    },
    async forgetAudit(...limits: unknown[]) {
      forgotten.push(limits);
      return due.entries ?? 0;
    },
    async forgetErasures(...limits: unknown[]) {
      erasures.push(limits);
      return due.erasures ?? 0;
    },
  };
  const retention = { devicesDays: 10, hoursDays: 1, auditDays: due.auditDays };
  const sweeper = sweeps(ledger, retention, metrics, createLog('silent'));
  return { sweeper, swept, forgotten, erasures, metrics };
}

it('devices and hours are old by the clock of the ledger', async () => {
  const { sweeper, swept } = setUp(async () => NOON, { devices: 1000 });
  expect(await sweeper.turn()).toBe(true);
  expect(swept).toEqual([['2025-06-05T12:00:00.000Z', '2025-06-14T12:00:00.000Z', 1000]]);
});

it('more version changes may be due when a turn deleted as many as it may', async () => {
  for (const [changes, hasMore] of [
    [1000, true],
    [999, false],
    [0, false],
  ] as const) {
    expect(await setUp(async () => NOON, { changes }).sweeper.turn()).toBe(hasMore);
  }
});

it('entries of the audit are kept for ever, unless AUDIT_DAYS says for how long', async () => {
  const kept = setUp(async () => NOON);
  await kept.sweeper.turn();
  expect(kept.forgotten).toEqual([]);
  const { sweeper, forgotten, metrics } = setUp(async () => NOON, { auditDays: 30, entries: 1000 });
  expect(await sweeper.turn()).toBe(true);
  expect(forgotten).toEqual([['2025-05-16T12:00:00.000Z', 1000]]);
  const { values } = await metrics.auditRemoved.get();
  expect(values).toMatchObject([{ value: 1000 }]);
});

it('nothing is swept while that clock cannot be read', async () => {
  const { sweeper, swept, metrics } = setUp(async () => {
    throw ledgerAway();
  });
  expect(await sweeper.turn()).toBe(false);
  expect(swept).toEqual([]);
  expect(metrics.faults.counts.get('sweep')).toBe(1);
});

it('an erasure is forgotten once no check-in from before it is recorded any more (§4.23)', async () => {
  const { sweeper, erasures } = setUp(async () => NOON, { erasures: 1000 });
  expect(await sweeper.turn()).toBe(true);
  const days = (Date.parse(String((erasures[0] as unknown[])[0])) - NOON) / 86_400_000;
  expect([days, (erasures[0] as unknown[])[1]]).toEqual([-(LIMIT.checkInAgeDaysMax + 1), 1000]);
});
