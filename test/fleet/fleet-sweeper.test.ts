// Tests the sweep of silent devices: it goes by the ledger's clock, because a node's may be wrong by years.

import { expect, it } from 'vitest';
import { FleetSweeper } from '../../src/fleet/fleet-sweeper.ts';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { ledgerAway } from '../support/fake-ledger.ts';

const NOON = Date.UTC(2025, 5, 15, 12);

function setUp(readTime: () => Promise<number>, due: { devices?: number; changes?: number } = {}) {
  const swept: unknown[] = [];
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
  };
  const retention = { devicesDays: 10, hoursDays: 1 };
  const sweeper = new FleetSweeper(ledger, retention, metrics, createLog('silent'));
  return { sweeper, swept, metrics };
}

it('devices and hours are old by the clock of the ledger', async () => {
  const { sweeper, swept } = setUp(async () => NOON, { devices: 1000 });
  expect(await sweeper.sweep()).toBe(true);
  expect(swept).toEqual([['2025-06-05T12:00:00.000Z', '2025-06-14T12:00:00.000Z', 1000]]);
});

it('more version changes may be due when a turn deleted as many as it may', async () => {
  for (const [changes, hasMore] of [
    [1000, true],
    [999, false],
    [0, false],
  ] as const) {
    expect(await setUp(async () => NOON, { changes }).sweeper.sweep()).toBe(hasMore);
  }
});

it('nothing is swept while that clock cannot be read', async () => {
  const { sweeper, swept, metrics } = setUp(async () => {
    throw ledgerAway();
  });
  expect(await sweeper.sweep()).toBe(false);
  expect(swept).toEqual([]);
  expect(metrics.faults.counts.get('sweep')).toBe(1);
});
