// Rules of guards that trip, from check-ins to a paused release: for each
// signal, with the calls that the service's driver makes (docs/contract.md 27.5).

import { describe, expect, test } from 'vitest';
import type { PlanGuards, Signal } from '../../../src/contract/rollout-plan.ts';
import type { CheckIn } from '../../../src/domain/fleet/check-in.ts';
import { USUAL_GUARDS } from '../../../src/domain/rollout/judge-health.ts';
import { USUAL_KEEPING } from '../../../src/store/ledger/fleet/check-ins.ts';
import { createSqlLedger } from '../../../src/store/ledger/sql-ledger.ts';
import { definition } from '../../domain/rollout/plan-fixture.ts';
import { HOUR_MS, MINUTE_MS } from './fleet-fixture.ts';
import { expectValue, PUBLISHER, type TestTenant } from './ledger-fixture.ts';
import { BEGIN, checkIn, DAY_MS, furnish } from './signal-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const IDS = Array.from({ length: 40 }, (_, index) => `device ${index}`);
/** Devices that a bad release harms: 10 of 40, of which the interval begins at 14 %. */
const HARMED = IDS.slice(0, 10);
const ON_WINDOWS = { platform: 'windows' };
const SPARED = IDS.slice(10);
const OTHERS = Array.from({ length: 40 }, (_, index) => `other ${index}`);
const OFFERED_AT = BEGIN + DAY_MS + MINUTE_MS;

export function describeGuardTrips({ database }: LedgerUnderTest): void {
  describe('guards that trip (§27.5)', () => {
    const ledger = createSqlLedger(database, undefined, {
      ...USUAL_KEEPING,
      freshnessMs: MINUTE_MS,
    });
    /** What each signal's bad release does to a device; the others installed the release, and still ask. */
    const harms: Readonly<Record<Signal, (tenant: TestTenant) => Promise<unknown>>> = {
      failed: async (tenant) => {
        await record(tenant, HARMED, { ...ON_WINDOWS, version: '0.9.0', at: Date.now() });
        await ledger.recordFailures(
          HARMED.map((deviceId, index) => ({
            ...{ appId: tenant.appId, channel: 'stable', deviceId, runs: '0.9.0' },
            ...{ canonicalVersion: '1.0.0', reason: 'disk full', network: `192.0.2.${index}` },
          })),
        );
      },
      reverted: async (tenant) => {
        await record(tenant, HARMED, { version: '1.0.0', at: OFFERED_AT + HOUR_MS });
        await record(tenant, HARMED, { ...ON_WINDOWS, version: '0.9.0', at: Date.now() });
      },
      stuck: (tenant) =>
        record(tenant, HARMED, { ...ON_WINDOWS, version: '0.9.0', at: Date.now() }),
      // They are not seen again after they installed it.
      silent: (tenant) =>
        record(tenant, HARMED, { ...ON_WINDOWS, version: '1.0.0', at: OFFERED_AT + HOUR_MS }),
    };

    function record(tenant: TestTenant, ids: readonly string[], parts: Partial<CheckIn>) {
      return ledger.recordCheckIns(ids.map((id) => checkIn(tenant, id, parts)));
    }

    /** A release that does this to a quarter of the devices that were offered it. */
    async function liveThrough(signal: Signal): Promise<TestTenant> {
      const { tenant, offer } = await furnish({ ledger, database });
      await record(tenant, [...IDS, ...OTHERS], { version: '0.9.0' });
      await record(tenant, IDS, { ...offer, at: OFFERED_AT });
      await record(tenant, SPARED, { version: '1.0.0', at: OFFERED_AT + HOUR_MS });
      await harms[signal](tenant);
      await record(tenant, SPARED, { version: '1.0.0', at: Date.now() });
      await record(tenant, OTHERS, { version: '0.9.0', at: Date.now() });
      return tenant;
    }

    async function drive(tenant: TestTenant, limits: Partial<PlanGuards>) {
      const release = { app: tenant.app, channel: 'stable', canonicalVersion: '1.0.0' };
      const guards = { ...USUAL_GUARDS, minimumDevices: 30, confirmMinutes: 0, ...limits };
      const steps = [{ rollout: 100, holdMinutes: 60 }];
      const made = expectValue(
        await ledger.createPlan({
          scope: tenant.organizationId,
          input: { ...release, definition: { ...definition('100:60', { guards }), steps } },
          actor: PUBLISHER,
        }),
      );
      const check = async () => {
        const { countedMs } = await ledger.beginPlanTurn(undefined);
        const driven = await ledger.drivePlan(
          { id: made.value.id, ...release },
          { seenUpToMs: countedMs },
        );
        return expectValue(driven).value;
      };
      // The first check finds the signal above its limit, the second one confirms it.
      expect((await check()).status).toBe('running');
      return check();
    }

    async function listen({ organizationId }: TestTenant) {
      const address = { kind: 'webhook', url: 'https://ops.example.com/hook', to: null } as const;
      const asked = { name: 'ops', events: null, apps: null, enabled: true };
      const destination = { organizationId, ...address, ...asked };
      return expectValue(await ledger.createDestination(destination, () => 'sealed', PUBLISHER));
    }

    function toldTo(destination: string) {
      return database.query<{ readonly type: string; readonly data: unknown }>(
        `SELECT type, data FROM notification_deliveries
         JOIN notification_events ON notification_events.id = event_id
         WHERE destination_id = $1 ORDER BY seq`,
        [destination],
      );
    }

    async function statusOf({ appId }: TestTenant): Promise<string | undefined> {
      const rows = await database.query<{ status: string }>(
        `SELECT releases.status FROM releases JOIN channels ON channels.id = channel_id
         WHERE app_id = $1`,
        [appId],
      );
      return rows[0]?.status;
    }

    test.each(['failed', 'reverted', 'stuck', 'silent'] as const)(
      'a release by which devices are %s is paused, and its plan says why',
      async (signal) => {
        const tenant = await liveThrough(signal);
        const { id: destination } = await listen(tenant);
        const plan = await drive(tenant, { [`${signal}Percent`]: 10 });
        // Of silent ones the interval is that of a difference to 40 others, none of whom is silent.
        const low = signal === 'silent' ? 11.1 : 14.2;
        const from = signal === 'failed' ? ' from 10 networks' : '';
        const figures = `10 of 40 devices${from}, 25 % (95 % interval ${low} to 40.2 %)`;
        const reason = `${signal}: ${figures}, above the limit of 10 %`;
        expect(plan).toMatchObject({ status: 'held', reason });
        expect(await statusOf(tenant)).toBe('paused');
        const told = await toldTo(destination);
        expect(told.map(({ type }) => type)).toEqual([
          ...['plan.started', 'plan.tripped', 'release.paused'],
        ]);
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
        expect(told[1]?.data).toMatchObject({ reason, guards: [{ ...rate, platform }] });
      },
    );

    test.each(['failed', 'reverted', 'stuck', 'silent'] as const)(
      'a release by which devices are %s goes on while the interval reaches below the limit',
      async (signal) => {
        const tenant = await liveThrough(signal);
        const plan = await drive(tenant, { [`${signal}Percent`]: 14.3 });
        expect(plan).toMatchObject({ status: 'running', reason: null });
        expect(await statusOf(tenant)).toBe('published');
      },
    );
  });
}
