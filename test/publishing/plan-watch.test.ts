// Tests the watch of open plans, whose counts the metrics tell.

import { expect, it } from 'vitest';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { watchPlans } from '../../src/publishing/plan-driver.ts';
import { ledgerAway } from '../support/fake-ledger.ts';

const NONE = { scheduled: 0, running: 0, waiting: 0, late: 0, held: 0, tripped: 0 };

it('plans are counted by state; without the ledger the last counts stay', async () => {
  const metrics = new Metrics();
  const answers = [async () => ({ ...NONE, tripped: 2 }), () => Promise.reject(ledgerAway())];
  const ledger = { countPlans: () => (answers.shift() ?? ledgerAway)() as never };
  const watch = watchPlans({ ledger, metrics, log: createLog('silent') });
  const tripped = async () =>
    /sluice_plans\{state="tripped".*\} (\d)/.exec(await metrics.registry.metrics())?.[1];
  expect(await tripped()).toBe('0');
  await watch.turn();
  expect(await tripped()).toBe('2');
  await watch.turn();
  expect(await tripped()).toBe('2');
  expect(metrics.faults.counts.get('plan-drive')).toBe(1);
});
