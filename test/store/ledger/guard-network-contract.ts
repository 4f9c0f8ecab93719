// Rules of guards and networks, from check-ins to a plan that goes on, is held or stopped: no single network
// decides (docs/contract.md 27.5, 27.14).

import { describe, expect, test } from 'vitest';
import type { Health, PlanGuards, RolloutPlan } from '../../../src/contract/rollout-plan.ts';
import type { CheckIn } from '../../../src/domain/fleet/check-in.ts';
import { USUAL_GUARDS } from '../../../src/domain/rollout/judge-health.ts';
import type { PlanDefinition } from '../../../src/domain/rollout/plan-state.ts';
import { USUAL_KEEPING } from '../../../src/store/ledger/fleet/check-ins.ts';
import { readSignals } from '../../../src/store/ledger/rollout/rollout-signals.ts';
import { createSqlLedger } from '../../../src/store/ledger/sql-ledger.ts';
import { definition } from '../../domain/rollout/plan-fixture.ts';
import { HOUR_MS, MINUTE_MS } from './fleet-fixture.ts';
import { expectValue, PUBLISHER, type TestTenant } from './ledger-fixture.ts';
import { BEGIN, checkIn, DAY_MS, furnish } from './signal-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const OFFERED_AT = BEGIN + DAY_MS + MINUTE_MS;
const UNBOUNDED = { perNetwork: 1_000_000, perApp: 1_000_000 };

type Device = readonly [id: string, network: string];

/** Devices of one network each, and devices of one network. */
function ownNetworks(name: string, count: number): readonly Device[] {
  return Array.from({ length: count }, (_, index) => [
    `${name} ${index}`,
    `10.${name.length}.${Math.floor(index / 250)}.${index % 250}`,
  ]);
}

function ofOne(name: string, count: number, network = '192.0.2.1'): readonly Device[] {
  return Array.from({ length: count }, (_, index) => [`${name} ${index}`, network]);
}

export function describeGuardNetworks({ database }: LedgerUnderTest): void {
  describe('networks of guards (§27.5, §27.14)', () => {
    const keeping = { ...USUAL_KEEPING, freshnessMs: MINUTE_MS };
    const ledger = createSqlLedger(database, undefined, keeping);

    function nameOf({ app }: TestTenant) {
      return { app, channel: 'stable', canonicalVersion: '1.0.0' };
    }

    function record(tenant: TestTenant, devices: readonly Device[], parts: Partial<CheckIn>) {
      const checks = devices.map(([id, network]) => ({ ...checkIn(tenant, id, parts), network }));
      return ledger.recordChecks(checks, 'queued', UNBOUNDED);
    }

    /** A release that good devices have installed, while stuck ones come again and are not on it. */
    async function offeredTo(
      good: readonly Device[],
      stuck: readonly Device[],
      { isReported = false } = {},
    ) {
      const { tenant, offer, release } = await furnish({ ledger, database });
      const all = [...good, ...stuck];
      await record(tenant, all, { version: '0.9.0' });
      if (isReported) {
        const report = { source: 'push', version: '0.9.0', at: BEGIN + HOUR_MS } as const;
        await ledger.recordCheckIns(all.map(([id]) => checkIn(tenant, id, report)));
      }
      await record(tenant, all, { ...offer, at: OFFERED_AT });
      await record(tenant, good, { version: '1.0.0', at: OFFERED_AT + HOUR_MS });
      await record(tenant, stuck, { version: '0.9.0', at: Date.now() });
      return { tenant, release, offer };
    }

    async function planFor(
      tenant: TestTenant,
      limits: Partial<PlanGuards>,
      parts: Partial<PlanDefinition> = {},
    ): Promise<RolloutPlan> {
      const guards = { ...USUAL_GUARDS, confirmMinutes: 0, ...limits };
      const plan = definition('100:60', { guards, ...parts });
      const scope = tenant.organizationId;
      return expectValue(
        await ledger.createPlan({
          scope,
          input: { ...nameOf(tenant), definition: plan },
          actor: PUBLISHER,
        }),
      ).value;
    }

    async function healthOf(tenant: TestTenant): Promise<Health> {
      return expectValue(await ledger.readPlan(tenant.organizationId, nameOf(tenant))).health;
    }

    async function verdict(
      tenant: TestTenant,
      limits: Partial<PlanGuards> = { stuckPercent: 2.5 },
    ) {
      await planFor(tenant, limits);
      return healthOf(tenant);
    }

    /** Checks the guards twice, as two turns of the driver do. */
    async function checkTwice(tenant: TestTenant, { id }: RolloutPlan): Promise<RolloutPlan> {
      const check = async () => {
        const { countedMs: seenUpToMs } = await ledger.beginPlanTurn(undefined);
        return expectValue(await ledger.drivePlan({ id, ...nameOf(tenant) }, { seenUpToMs })).value;
      };
      await check();
      return check();
    }

    async function statusOf({ appId }: TestTenant): Promise<string | undefined> {
      const rows = await database.query<{ status: string }>(
        `SELECT releases.status FROM releases JOIN channels ON channels.id = channel_id
         WHERE app_id = $1`,
        [appId],
      );
      return rows[0]?.status;
    }

    test('many devices of one address, or of one /48, make no condition hold', async () => {
      const real = ownNetworks('real', 150);
      const one = await offeredTo(real, ofOne('invented', 100));
      expect(await verdict(one.tenant)).toMatchObject({ stuck: 100, verdict: 'healthy' });
      const wide = await offeredTo(
        real,
        ofOne('invented', 60).map(([id], index) => [id, `2001:db8:7:${index}::/64`] as const),
      );
      expect(await verdict(wide.tenant)).toMatchObject({ stuck: 60, verdict: 'healthy' });
    });

    test('devices of many networks do', async () => {
      const many = await offeredTo(ownNetworks('real', 150), ownNetworks('bad', 20));
      expect((await verdict(many.tenant)).verdict).toBe('unhealthy');
    });

    test('devices of one address that outnumber the fleet stop no plan', async () => {
      const { tenant } = await offeredTo(ownNetworks('real', 150), ofOne('invented', 200));
      const plan = await planFor(tenant, { stuckPercent: 2.5 });
      expect(await checkTwice(tenant, plan)).toMatchObject({ status: 'running', reason: null });
      expect(await statusOf(tenant)).toBe('published');
      expect(await healthOf(tenant)).toMatchObject({ stuck: 200, verdict: 'healthy' });
    });

    test('where they leave too few devices to judge by, the plan is held and says why', async () => {
      const { tenant } = await offeredTo(ownNetworks('real', 60), ofOne('invented', 200));
      const { organizationId } = tenant;
      const address = { kind: 'webhook', url: 'https://ops.example.com/hook', to: null } as const;
      const asked = { name: 'ops', events: null, apps: null, enabled: true };
      const destination = { organizationId, ...address, ...asked };
      const made = await ledger.createDestination(destination, () => 'sealed', PUBLISHER);
      const { id } = expectValue(made);
      const plan = await planFor(
        tenant,
        { stuckPercent: 2.5 },
        { onTrip: 'pause', onBlind: 'advance', patienceMinutes: 0 },
      );
      const held = await checkTwice(tenant, plan);
      const reason =
        'stuck: 200 of 260 devices from 1 network, 76.9 % (95 % interval 71.4 to 81.6 %), above the ' +
        'limit of 2.5 %; without one network (200 of its 200 devices) 60 devices to judge by are left, ' +
        'and its guard needs 100';
      expect(held).toMatchObject({ status: 'held', reason });
      expect(await statusOf(tenant)).toBe('published');
      const network = { count: 200, base: 200 };
      expect(await healthOf(tenant)).toMatchObject({
        ...{ verdict: 'too early', rates: { stuck: { tripped: false, network } } },
      });
      const told = await database.query<{ readonly type: string; readonly data: unknown }>(
        `SELECT type, data FROM notification_deliveries
         JOIN notification_events ON notification_events.id = event_id
         WHERE destination_id = $1 ORDER BY seq`,
        [id],
      );
      expect(told.map(({ type }) => type)).toEqual(['plan.started', 'plan.held']);
      const guard = { guard: 'stuck', count: 200, base: 260, limit: 2.5, tripped: false, network };
      expect(told[1]?.data).toMatchObject({ reason, guards: [guard] });
      const { entries } = expectValue(await ledger.listAudit(organizationId, { limit: 10 }));
      const own = entries.filter(({ actor }) => actor === `plan:${plan.id}`);
      expect(own.map(({ action }) => action)).toEqual(['plan.hold']);
      expect(await checkTwice(tenant, plan)).toMatchObject({ status: 'held', reason });
    });

    test('a fleet behind one address is judged as long as nothing is wrong', async () => {
      const { tenant } = await offeredTo(ofOne('desk', 150), []);
      expect(await verdict(tenant)).toMatchObject({ stuck: 0, verdict: 'healthy' });
    });

    test('devices that were reported with a key belong to no network, also where they check in', async () => {
      const office = [ofOne('desk', 110), ofOne('bad desk', 40)] as const;
      const pulled = await offeredTo(...office);
      expect(await verdict(pulled.tenant)).toMatchObject({ stuck: 40, verdict: 'too early' });
      const reported = await offeredTo(...office, { isReported: true });
      expect(await verdict(reported.tenant)).toMatchObject({ stuck: 40, verdict: 'unhealthy' });
    });

    test('of silent devices, strangers among the others who are never silent are left out', async () => {
      const real = ownNetworks('real', 150);
      const others = ownNetworks('other', 150);
      const strangers = ofOne('stranger', 1000);
      const { tenant, offer } = await furnish({ ledger, database });
      await record(tenant, [...real, ...others, ...strangers], { version: '0.9.0' });
      await record(tenant, real, { ...offer, at: OFFERED_AT });
      await record(tenant, others, { version: '0.9.0', at: OFFERED_AT });
      // Nothing is heard of a third, whether they got the release or not.
      for (const some of [real.slice(50), others.slice(50), strangers]) {
        await record(tenant, some, { version: '0.9.0', at: Date.now() });
      }
      const health = await verdict(tenant, { silentPercent: 5 });
      expect(health.rates.silent).toMatchObject({ base: 150, limit: 5 });
      expect(health.rates.silent.low).toBeGreaterThan(5);
      expect(health).toMatchObject({ silent: 50, verdict: 'healthy' });
    });

    test('of failures, more of an honest address count only as far as the fleet itself is large', async () => {
      const { tenant, release } = await offeredTo(
        [...ownNetworks('real', 140), ...ofOne('desk', 10, '192.0.2.7')],
        ofOne('invented', 1000),
      );
      await ledger.recordFailures(
        ofOne('desk', 10).map(([deviceId]) => ({
          ...{ appId: tenant.appId, channel: 'stable', deviceId, runs: '0.9.0' },
          ...{ canonicalVersion: '1.0.0', reason: 'disk full', network: '192.0.2.7' },
        })),
      );
      const guards = { ...USUAL_GUARDS, failedPercent: 2 };
      const { failed, networks } = await readSignals(database, release.id, { guards, steps: [] });
      expect(failed).toBe(10);
      // Of 150 devices that are left without the strangers, three failures of one address count.
      expect(networks.failed).toMatchObject({ count: 2 });
      expect(networks.failed.parts).toContainEqual({ hits: 7, base: 1000 });
      expect(networks.failed.parts).toContainEqual({ hits: 10, base: 10 });
    });
  });
}
