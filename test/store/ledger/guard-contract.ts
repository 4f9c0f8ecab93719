// Rules of guards, from check-ins to a plan that goes on, is held or stopped, with the calls that the driver
// makes: for each signal, and for networks, no single one of which decides (docs/contract.md 27.5, 27.14).
// When a guard's condition holds is tested in test/domain/rollout/health.test.ts.

import { describe, expect, test } from 'vitest';
import type { PlanGuards, RolloutPlan, Signal } from '../../../src/contract/rollout-plan.ts';
import type { CheckIn } from '../../../src/domain/fleet/check-in.ts';
import { USUAL_GUARDS } from '../../../src/domain/rollout/judge-health.ts';
import type { PlanDefinition } from '../../../src/domain/rollout/plan-state.ts';
import { USUAL_KEEPING } from '../../../src/store/ledger/fleet/check-ins.ts';
import { readSignals } from '../../../src/store/ledger/rollout/rollout-signals.ts';
import { createSqlLedger } from '../../../src/store/ledger/sql-ledger.ts';
import { HOUR_MS, MINUTE_MS } from './fleet-fixture.ts';
import { expectValue, type TestTenant } from './ledger-fixture.ts';
import { nameOf, planHands } from './plan-hands.ts';
import { BEGIN, checkIn, DAY_MS, furnish } from './signal-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const OFFERED_AT = BEGIN + DAY_MS + MINUTE_MS;
const UNBOUNDED = { perNetwork: 1_000_000, perApp: 1_000_000 };
const NETWORK = '192.0.2.1';

type Device = readonly [id: string, network: string | undefined];

function devices(name: string, count: number, networkOf: (index: number) => string | undefined) {
  return Array.from(
    { length: count },
    (_, index): Device => [`${name} ${index}`, networkOf(index)],
  );
}

/** Devices of one network each, of one network, and of none that is known. */
const ownNetworks = (name: string, count: number) =>
  devices(name, count, (index) => `10.${name.length}.${Math.floor(index / 250)}.${index % 250}`);
const ofOne = (name: string, count: number, network = NETWORK) =>
  devices(name, count, () => network);
const ofNone = (name: string, count: number) => devices(name, count, () => undefined);

export function describeGuards({ database }: LedgerUnderTest): void {
  describe('guards', () => {
    const keeping = { ...USUAL_KEEPING, freshnessMs: MINUTE_MS };
    const ledger = createSqlLedger(database, undefined, keeping);
    const { create, drive, read } = planHands({ ledger, database });

    function record(tenant: TestTenant, some: readonly Device[], parts: Partial<CheckIn>) {
      const checks = some.map(([id, network]) => ({ ...checkIn(tenant, id, parts), network }));
      return ledger.recordChecks(checks, 'queued', UNBOUNDED);
    }

    function recordFailures({ appId }: TestTenant, some: readonly Device[]) {
      return ledger.recordFailures(
        some.map(([deviceId, network]) => ({
          ...{ appId, channel: 'stable', deviceId, runs: '0.9.0', network },
          ...{ canonicalVersion: '1.0.0', reason: 'disk full' },
        })),
      );
    }

    const placeOf = (tenant: TestTenant) => ({
      ...{ scope: tenant.organizationId, name: nameOf(tenant) },
    });

    async function planFor(
      tenant: TestTenant,
      limits: Partial<PlanGuards>,
      parts: Partial<PlanDefinition> = {},
    ): Promise<RolloutPlan> {
      const guards = { ...USUAL_GUARDS, confirmMinutes: 0, ...limits };
      return expectValue(await create(placeOf(tenant), '100:60', { guards, ...parts })).value;
    }

    /** Checks the guards as the driver does: the first check finds a condition, the second confirms it. */
    async function checkTwice(tenant: TestTenant, plan: RolloutPlan): Promise<RolloutPlan> {
      const check = async () => {
        const { countedMs: seenUpToMs } = await ledger.beginPlanTurn(undefined);
        return drive({ name: nameOf(tenant), plan }, { seenUpToMs });
      };
      await check();
      return check();
    }

    const statusOf = async (tenant: TestTenant) => (await tenant.stable()).releases[0]?.status;

    /** Begins to note what is told of a tenant's releases; returns what reads it. */
    async function tellings(tenant: TestTenant) {
      const { id } = await tenant.listen();
      return () =>
        database.query<{ readonly type: string; readonly data: unknown }>(
          `SELECT type, data FROM notification_deliveries
           JOIN notification_events ON notification_events.id = event_id
           WHERE destination_id = $1 ORDER BY seq`,
          [id],
        );
    }

    /** Devices that a bad release harms: 10 of 40, of which the interval begins at 14 %. */
    const [harmed, spared, others] = [
      ofNone('harmed', 10),
      ofNone('spared', 30),
      ofNone('other', 40),
    ];
    const [INSTALLED_AT, ON_WINDOWS] = [OFFERED_AT + HOUR_MS, { platform: 'windows' }];
    /** What each signal's bad release does to a device; the others installed the release, and still ask. */
    const harms: Readonly<Record<Signal, (tenant: TestTenant) => Promise<unknown>>> = {
      failed: async (tenant) => {
        await record(tenant, harmed, { ...ON_WINDOWS, version: '0.9.0', at: Date.now() });
        const networks = harmed.map(([id], index): Device => [id, `192.0.2.${index}`]);
        await recordFailures(tenant, networks);
      },
      reverted: async (tenant) => {
        await record(tenant, harmed, { version: '1.0.0', at: INSTALLED_AT });
        await record(tenant, harmed, { ...ON_WINDOWS, version: '0.9.0', at: Date.now() });
      },
      stuck: (tenant) =>
        record(tenant, harmed, { ...ON_WINDOWS, version: '0.9.0', at: Date.now() }),
      // They are not seen again after they installed it.
      silent: (tenant) =>
        record(tenant, harmed, { ...ON_WINDOWS, version: '1.0.0', at: INSTALLED_AT }),
    };

    test.each(['failed', 'reverted', 'stuck', 'silent'] as const)(
      'a release by which devices are %s is paused, and its plan says why (§27.5)',
      async (signal) => {
        const { tenant, offer } = await furnish({ ledger, database });
        await record(tenant, [...harmed, ...spared, ...others], { version: '0.9.0' });
        await record(tenant, [...harmed, ...spared], { ...offer, at: OFFERED_AT });
        await record(tenant, spared, { version: '1.0.0', at: INSTALLED_AT });
        await harms[signal](tenant);
        await record(tenant, spared, { version: '1.0.0', at: Date.now() });
        await record(tenant, others, { version: '0.9.0', at: Date.now() });
        const told = await tellings(tenant);
        const plan = await planFor(tenant, { minimumDevices: 30, [`${signal}Percent`]: 10 });
        const held = await checkTwice(tenant, plan);
        // Of silent ones the interval is that of a difference to 40 others, none of whom is silent.
        const low = signal === 'silent' ? 11.1 : 14.2;
        const from = signal === 'failed' ? ' from 10 networks' : '';
        const figures = `10 of 40 devices${from}, 25 % (95 % interval ${low} to 40.2 %)`;
        const reason = `${signal}: ${figures}, above the limit of 10 %`;
        expect(held).toMatchObject({ status: 'held', reason });
        expect(await statusOf(tenant)).toBe('paused');
        const { health } = await read(placeOf(tenant));
        expect(health).toMatchObject({
          ...{ verdict: 'unhealthy', rates: { [signal]: { limit: 10, tripped: true } } },
        });
        const audit = (await tenant.audit()).slice(0, 2);
        expect(audit.map(({ action, actor }) => [action, actor])).toEqual([
          ['release.serve', `plan:${plan.id}`],
          ['plan.hold', `plan:${plan.id}`],
        ]);
        const events = await told();
        const types = ['plan.started', 'plan.tripped', 'release.paused'];
        expect(events.map(({ type }) => type)).toEqual(types);
        const rate = {
          guard: signal,
          count: 10,
          base: 40,
          percent: 25,
          low,
          high: 40.2,
          limit: 10,
        };
        const platform = { name: 'windows', devices: 10, base: 10, percent: 100 };
        expect(events[1]?.data).toMatchObject({ reason, guards: [{ ...rate, platform }] });
      },
    );

    /** A release that good devices have installed, while stuck ones come again and are not on it. */
    async function offeredTo(
      good: readonly Device[],
      stuck: readonly Device[],
      isReported = false,
    ) {
      const { tenant, offer, release } = await furnish({ ledger, database });
      const all = [...good, ...stuck];
      await record(tenant, all, { version: '0.9.0' });
      if (isReported) {
        const report = { source: 'push', version: '0.9.0', at: BEGIN + HOUR_MS } as const;
        await ledger.recordCheckIns(all.map(([id]) => checkIn(tenant, id, report)));
      }
      await record(tenant, all, { ...offer, at: OFFERED_AT });
      await record(tenant, good, { version: '1.0.0', at: INSTALLED_AT });
      await record(tenant, stuck, { version: '0.9.0', at: Date.now() });
      return { tenant, release, offer };
    }

    async function judged(tenant: TestTenant, limits: Partial<PlanGuards> = { stuckPercent: 2.5 }) {
      await planFor(tenant, limits);
      return (await read(placeOf(tenant))).health;
    }

    test('devices of one address or /48 stop no plan, however many; those of many networks do (§27.5)', async () => {
      const real = ownNetworks('real', 150);
      const one = await offeredTo(real, ofOne('invented', 200));
      const plan = await planFor(one.tenant, { stuckPercent: 2.5 });
      const goesOn = { status: 'running', reason: null };
      expect(await checkTwice(one.tenant, plan)).toMatchObject(goesOn);
      expect(await statusOf(one.tenant)).toBe('published');
      const { health } = await read(placeOf(one.tenant));
      expect(health).toMatchObject({ stuck: 200, verdict: 'healthy' });
      const wide = devices('wide', 60, (index) => `2001:db8:7:${index}::/64`);
      const { tenant } = await offeredTo(real, wide);
      expect(await judged(tenant)).toMatchObject({ stuck: 60, verdict: 'healthy' });
      const many = await offeredTo(real, ownNetworks('bad', 20));
      expect(await judged(many.tenant)).toMatchObject({ stuck: 20, verdict: 'unhealthy' });
    });

    test('where they leave too few devices to judge by, the plan is held and says why (§27.14)', async () => {
      const { tenant } = await offeredTo(ownNetworks('real', 60), ofOne('invented', 200));
      const told = await tellings(tenant);
      const parts = { onTrip: 'pause', onBlind: 'advance', patienceMinutes: 0 } as const;
      const plan = await planFor(tenant, { stuckPercent: 2.5 }, parts);
      const reason =
        'stuck: 200 of 260 devices from 1 network, 76.9 % (95 % interval 71.4 to 81.6 %), above the ' +
        'limit of 2.5 %; without one network (200 of its 200 devices) 60 devices to judge by are left, ' +
        'and its guard needs 100';
      expect(await checkTwice(tenant, plan)).toMatchObject({ status: 'held', reason });
      expect(await statusOf(tenant)).toBe('published');
      const network = { count: 200, base: 200 };
      expect((await read(placeOf(tenant))).health).toMatchObject({
        ...{ verdict: 'too early', rates: { stuck: { tripped: false, network } } },
      });
      const events = await told();
      expect(events.map(({ type }) => type)).toEqual(['plan.started', 'plan.held']);
      const guard = { guard: 'stuck', count: 200, base: 260, limit: 2.5, tripped: false, network };
      expect(events[1]?.data).toMatchObject({ reason, guards: [guard] });
      const own = (await tenant.audit()).filter(({ actor }) => actor.startsWith('plan:'));
      expect(own.map(({ action }) => action)).toEqual(['plan.hold']);
      expect(await checkTwice(tenant, plan)).toMatchObject({ status: 'held', reason });
    });

    test('devices that were reported with a key belong to no network, also where they check in (§27.5)', async () => {
      const office = [ofOne('desk', 110), ofOne('bad desk', 40)] as const;
      const pulled = await offeredTo(...office);
      expect(await judged(pulled.tenant)).toMatchObject({ stuck: 40, verdict: 'too early' });
      const reported = await offeredTo(...office, true);
      expect(await judged(reported.tenant)).toMatchObject({ stuck: 40, verdict: 'unhealthy' });
    });

    test('of silent devices, strangers among the others who are never silent are left out (§27.5)', async () => {
      const [real, other] = [ownNetworks('real', 150), ownNetworks('other', 150)];
      const strangers = ofOne('stranger', 1000);
      const { tenant, offer } = await furnish({ ledger, database });
      await record(tenant, [...real, ...other, ...strangers], { version: '0.9.0' });
      await record(tenant, real, { ...offer, at: OFFERED_AT });
      await record(tenant, other, { version: '0.9.0', at: OFFERED_AT });
      // Nothing is heard of a third, whether they got the release or not.
      for (const some of [real.slice(50), other.slice(50), strangers]) {
        await record(tenant, some, { version: '0.9.0', at: Date.now() });
      }
      const health = await judged(tenant, { silentPercent: 5 });
      expect(health.rates.silent).toMatchObject({ base: 150, limit: 5 });
      expect(health.rates.silent.low).toBeGreaterThan(5);
      expect(health).toMatchObject({ silent: 50, verdict: 'healthy' });
    });

    test('of failures, more of an honest address count only as far as the fleet itself is large (§27.5)', async () => {
      const desk = ofOne('desk', 10, '192.0.2.7');
      const good = [...ownNetworks('real', 140), ...desk];
      const { tenant, release } = await offeredTo(good, ofOne('invented', 1000));
      await recordFailures(tenant, desk);
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
