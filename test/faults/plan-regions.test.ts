// Tests that a plan waits for the check-ins of every region, each of which has a Redis of its own on one
// ledger (docs/contract.md 27.13). Nodes are played by their plan drivers, whose turns the test takes; the
// drain of a region stands still unless the test takes its batches.

import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { USUAL_GUARDS } from '../../src/domain/rollout/judge-health.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { PlanDriver } from '../../src/publishing/plan-driver.ts';
import type { Engine } from '../../src/store/engine.ts';
import { openPgDatabase } from '../../src/store/ledger/database/pg-database.ts';
import { createSqlLedger } from '../../src/store/ledger/sql-ledger.ts';
import type { Ledger } from '../../src/store/ledger.ts';
import { definition } from '../domain/rollout/plan-fixture.ts';
import { batchOf, idsOf } from '../store/engine/fleet-sample.ts';
import { adminOf, connectedAlone } from '../store/engine/redis-fixture.ts';
import { createTenant, expectValue, PUBLISHER } from '../store/ledger/ledger-fixture.ts';
import { describeOnRealStores, realStores } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { migratedDatabase } from '../support/migrated-database.ts';
import { packCheckIns } from '../support/pack-check-ins.ts';

const NEVER_MS = 600_000;

type Region = {
  readonly engine: Engine;
  readonly driver: PlanDriver;
  readonly warnings: object[];
};

describeOnRealStores('a plan of two regions', () => {
  let database: ReturnType<typeof openPgDatabase>;
  let ledger: Ledger;
  let dispose: () => Promise<void>;

  beforeAll(async () => {
    const fresh = await migratedDatabase(realStores()?.postgresUrl ?? '');
    database = openPgDatabase({ url: fresh.url, onFault: () => undefined });
    ledger = createSqlLedger(database);
    dispose = async () => {
      await database.close();
      await fresh.drop();
    };
  });
  afterAll(() => dispose?.());

  afterEach(async () => {
    await database.query('DELETE FROM region_marks');
    await database.query(`UPDATE rollout_plans SET status = 'cancelled'`);
  });

  async function openRegion(): Promise<Region & { readonly forget: () => Promise<unknown> }> {
    const { engine, server } = await connectedAlone();
    const warnings: object[] = [];
    const log = { warn: (details: object) => void warnings.push(details), debug() {}, error() {} };
    const driver = new PlanDriver({
      ...{ ledger, queue: engine, connectionsMax: 2, metrics: new Metrics(), log },
      propagate: async () => undefined,
    });
    await driver.turn();
    return { engine, driver, warnings, forget: () => adminOf(server).flushall() };
  }

  /** Plan whose first step is due now, of a release that some devices have. */
  async function newPlan() {
    const tenant = await createTenant(ledger);
    await tenant.release('1.0.0', { rolloutPct: 1 });
    const name = { app: tenant.app, channel: 'stable', canonicalVersion: '1.0.0' };
    const guards = { ...USUAL_GUARDS, failedPercent: 1 };
    const made = definition('10:60 100:0', { guards, onBlind: 'advance' });
    expectValue(
      await ledger.createPlan({
        scope: tenant.organizationId,
        input: { ...name, definition: made },
        actor: PUBLISHER,
      }),
    );
    const read = async () => expectValue(await ledger.readPlan(tenant.organizationId, name)).plan;
    return { read };
  }

  type Plan = Awaited<ReturnType<typeof newPlan>>;

  async function untilBegun(plan: Plan, ...regions: Region[]): Promise<void> {
    await eventually('the step begins', async () => {
      for (const { driver } of regions) await driver.turn();
      return (await plan.read()).step === 0;
    });
  }

  /** Takes turns until the region has noted a mark after the plan was due, and the other one has seen it. */
  async function expectWaiting(plan: Plan, driving: Region, other?: Region): Promise<void> {
    const [due] = await database.query<{ ms: number }>(
      `SELECT max(due_ms)::float8 AS ms FROM rollout_plans WHERE status = 'running'`,
    );
    const own = await driving.engine.nameRegion();
    await eventually('the driving region has recorded all', async () => {
      await other?.driver.turn();
      await driving.driver.turn();
      const marks = await ledger.listRegions();
      return marks.some(({ region, recordedMs }) => region === own && recordedMs >= (due?.ms ?? 0));
    });
    await driving.driver.turn();
    expect((await plan.read()).step).toBeNull();
  }

  it('begins no step before the check-ins in the other Redis are recorded (§27.13)', async () => {
    const [east, west] = [await openRegion(), await openRegion()];
    await west.engine.appendCheckIns(packCheckIns(batchOf('a')));
    const plan = await newPlan();
    await expectWaiting(plan, east, west);
    await database.query('UPDATE plan_clock SET counted_ms = counted_ms + 60000');
    await east.driver.turn();
    const region = await west.engine.nameRegion();
    expect((await plan.read()).waitingFor).toMatchObject({
      ...{ guard: null, region, reason: `Check-ins of region ${region} are not recorded yet` },
    });
    const taken = await west.engine.takeCheckIns('drain', 10, 0, NEVER_MS);
    await west.engine.acknowledgeCheckIns(idsOf(taken));
    await eventually('the step begins', async () => {
      await database.query('UPDATE rollout_plans SET checked_ms = 0');
      for (const { driver } of [west, east]) await driver.turn();
      return (await plan.read()).step === 0;
    });
  });

  it('waits for a region that was killed for an hour at most, and says so then (§27.13)', async () => {
    const [east, west] = [await openRegion(), await openRegion()];
    const region = await west.engine.nameRegion();
    const plan = await newPlan();
    await expectWaiting(plan, east);
    await database.query(
      `UPDATE region_marks SET noted_at = noted_at - interval '1 hour' WHERE region = $1`,
      [region],
    );
    await untilBegun(plan, east);
    expect(east.warnings).toEqual([{ region, silentSince: expect.any(String) }]);
  });

  it('does not wait for a region whose Redis has lost what waited, as long as one node of it lives', async () => {
    const [east, west] = [await openRegion(), await openRegion()];
    const region = await west.engine.nameRegion();
    await west.engine.appendCheckIns(packCheckIns(batchOf('a')));
    const plan = await newPlan();
    await expectWaiting(plan, east, west);
    await west.forget();
    await untilBegun(plan, west, east);
    expect(await west.engine.nameRegion()).toBe(region);
  });
});
