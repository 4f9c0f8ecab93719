// Rules of rollout plans in the ledger (docs/contract.md 27).

import { describe, expect, test } from 'vitest';
import type { RolloutPlan } from '../../../src/contract/rollout-plan.ts';
import { USUAL_GUARDS } from '../../../src/domain/rollout/judge-health.ts';
import type { PlanDefinition } from '../../../src/domain/rollout/plan-state.ts';
import { definition } from '../../domain/rollout/plan-fixture.ts';
import {
  createTenant,
  expectValue,
  newRelease,
  OPERATOR,
  PUBLISHER,
  serve,
  type TestTenant,
} from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

/** Counted time of which all check-ins are recorded: a record that is always caught up. */
const CAUGHT_UP = { seenUpToMs: Number.MAX_SAFE_INTEGER };

export function describePlans({ database, ledger }: LedgerUnderTest): void {
  describe('rollout plans', () => {
    type Given = {
      readonly plan?: PlanDefinition;
      readonly status?: 'published' | 'paused';
      readonly rolloutPct?: number;
    };

    /** Publishes 1.0.0 on a channel of its own. */
    async function published({ plan, status = 'published', rolloutPct = 0 }: Given = {}) {
      const tenant = await createTenant(ledger);
      const release = newRelease(tenant, '1.0.0', { status, rolloutPct, plan });
      const { value } = expectValue(
        await ledger.publishRelease({
          scope: tenant.organizationId,
          input: release,
          actor: PUBLISHER,
        }),
      );
      return { tenant, id: value.id, name: nameOf(tenant), scope: tenant.organizationId };
    }

    type Place = Awaited<ReturnType<typeof published>>;

    async function planned(steps: string, given: Given = {}, parts: Partial<PlanDefinition> = {}) {
      const place = await published(given);
      const plan = definition(steps, parts);
      const made = await ledger.createPlan({
        scope: place.scope,
        input: { ...place.name, definition: plan },
        actor: PUBLISHER,
      });
      return { ...place, plan: expectValue(made).value };
    }

    async function drive({ name: release }: Place, { id }: RolloutPlan, seen = CAUGHT_UP) {
      return expectValue(await ledger.drivePlan({ id, ...release }, seen)).value;
    }

    async function read({ scope, name: release }: Place) {
      return expectValue(await ledger.readPlan(scope, release));
    }

    async function auditOf({ tenant }: Place) {
      const page = await ledger.listAudit(tenant.organizationId, { limit: 100 });
      return [...expectValue(page).entries].reverse();
    }

    /** Lets the waits of all plans be over. */
    async function pass(minutes: number): Promise<void> {
      await database.query('UPDATE plan_clock SET counted_ms = counted_ms + $1', [
        minutes * 60_000,
      ]);
    }

    function isToDrive({ id }: RolloutPlan): Promise<boolean> {
      return ledger
        .listPlansToDrive(15_000, 1000)
        .then((found) => found.some((one) => one.id === id));
    }

    test('a plan is stored with its audit entry and read as it was made (§27.1)', async () => {
      const guards = { ...USUAL_GUARDS, failedPercent: 2.5 };
      const place = await planned('10:60 100:0', {}, { guards, onTrip: 'hold' });
      const { plan } = await read(place);
      expect(plan).toEqual({ ...place.plan, nextAt: plan.nextAt });
      expect(plan).toMatchObject({
        ...{ app: place.tenant.app, channel: 'stable', version: '1.0.0', status: 'running' },
        ...{ reason: null, step: null, guards, onTrip: 'hold' },
        steps: [
          { rollout: 10, holdMinutes: 60, startedAt: null, endedAt: null },
          { rollout: 100, holdMinutes: 0, startedAt: null, endedAt: null },
        ],
        createdBy: 'account:publisher@example.com',
      });
      expect(plan.id).toMatch(/^pln_/);
      const entry = (await auditOf(place)).at(-1);
      expect(entry).toMatchObject({
        ...{ action: 'plan.create', actor: 'account:publisher@example.com', before: null },
        subject: `${place.tenant.app}/stable@1.0.0`,
      });
    });

    test('a release has one open plan, and another one after it (§27.1)', async () => {
      const place = await planned('10:60');
      const again = () =>
        ledger.createPlan({
          scope: place.scope,
          input: { ...place.name, definition: definition('20:60') },
          actor: PUBLISHER,
        });
      expect(await again()).toMatchObject({ failure: 'planRefused' });
      expectValue(
        await ledger.steerPlan({
          scope: place.scope,
          input: { ...place.name, action: 'cancel' },
          actor: PUBLISHER,
        }),
      );
      const second = expectValue(await again()).value;
      expect((await read(place)).plan.id).toBe(second.id);
    });

    test('unknown names and tenants are refused as unknown (§27.1)', async () => {
      const place = await published();
      const other = await createTenant(ledger);
      const plan = definition('10:60');
      const create = (scope: string, parts: object) =>
        ledger.createPlan({
          scope,
          input: { ...place.name, ...parts, definition: plan },
          actor: PUBLISHER,
        });
      expect(await create(other.organizationId, {})).toMatchObject({ failure: 'unknownApp' });
      expect(await create(place.scope, { channel: 'x' })).toMatchObject({
        failure: 'unknownChannel',
      });
      expect(await create(place.scope, { canonicalVersion: '9.9.9' })).toMatchObject({
        failure: 'unknownRelease',
      });
      expect(await ledger.readPlan(place.scope, place.name)).toMatchObject({
        failure: 'unknownPlan',
      });
      expect(
        await ledger.steerPlan({
          scope: place.scope,
          input: { ...place.name, action: 'hold' },
          actor: PUBLISHER,
        }),
      ).toMatchObject({
        failure: 'unknownPlan',
      });
    });

    test('a step raises the rollout once, audited as the plan, however often it is driven (§27.2)', async () => {
      const place = await planned('10:60 50:60');
      expect(await isToDrive(place.plan)).toBe(true);
      const drives = Array.from({ length: 8 }, () => drive(place, place.plan));
      for (const plan of await Promise.all(drives)) expect(plan.step).toBe(0);
      expect(await isToDrive(place.plan)).toBe(false);
      await pass(61);
      await Promise.all(Array.from({ length: 8 }, () => drive(place, place.plan)));
      const { plan } = await read(place);
      expect(plan.step).toBe(1);
      const served = (await auditOf(place)).filter(({ action }) => action === 'release.serve');
      expect(served.map(({ actor, after, reason }) => [actor, after, reason])).toEqual([
        [`plan:${plan.id}`, expect.objectContaining({ rolloutPct: 10 }), 'Step 1 of 2'],
        [`plan:${plan.id}`, expect.objectContaining({ rolloutPct: 50 }), 'Step 2 of 2'],
      ]);
      await pass(61);
      expect(await isToDrive(plan)).toBe(true);
      expect((await drive(place, plan)).status).toBe('completed');
      expect(await ledger.drivePlan({ id: plan.id, ...place.name }, CAUGHT_UP)).toMatchObject({
        failure: 'unknownPlan',
      });
    });

    test('time without the ledger counts 5 s at most, and a clock that goes back none (§27.2)', async () => {
      const shift = (seconds: number) =>
        database.query(
          `UPDATE plan_clock SET read_at = clock_timestamp() + $1 * interval '1 second'`,
          [seconds],
        );
      const before = await ledger.beginPlanTurn(undefined);
      await shift(-3600);
      const after = await ledger.beginPlanTurn(undefined);
      expect(after.countedMs - before.countedMs).toBeLessThanOrEqual(6000);
      expect(after.countedMs - before.countedMs).toBeGreaterThanOrEqual(5000);
      await shift(3600);
      const back = await ledger.beginPlanTurn(undefined);
      expect(back.countedMs - after.countedMs).toBeLessThanOrEqual(1000);
      expect(back.countedMs).toBeGreaterThanOrEqual(after.countedMs);
    });

    test('a release born under a plan begins at 0 %, whatever the channel says (§27.8)', async () => {
      const place = await published({ plan: definition('10:60'), rolloutPct: 100 });
      const owned = expectValue(await ledger.readOwnedRelease(place.scope, place.id));
      expect(owned.release.rolloutPct).toBe(0);
      const { plan } = await read(place);
      expect(plan.status).toBe('running');
      expect((await drive(place, plan)).step).toBe(0);
    });

    test('a release never published waits at 0 % and starts when it is published (§27.3)', async () => {
      const place = await planned('10:60', { status: 'paused', rolloutPct: 100 });
      expect(place.plan.status).toBe('scheduled');
      expect(await isToDrive(place.plan)).toBe(false);
      await serve(ledger, place.tenant, '1.0.0', { rollout: 70 });
      const served = await serve(ledger, place.tenant, '1.0.0', { status: 'published' });
      expect(expectValue(served).value.rolloutPct).toBe(0);
      expect(await isToDrive(place.plan)).toBe(true);
      expect((await drive(place, place.plan)).step).toBe(0);
    });

    test('pausing by somebody holds the plan in the same transaction (§27.3)', async () => {
      const place = await planned('10:60 50:60');
      await drive(place, place.plan);
      expectValue(await serve(ledger, place.tenant, '1.0.0', { status: 'paused' }));
      expect((await read(place)).plan).toMatchObject({
        ...{ status: 'held', reason: 'The release was paused', nextAt: null },
      });
      const resume = () =>
        ledger.steerPlan({
          scope: place.scope,
          input: { ...place.name, action: 'resume' },
          actor: PUBLISHER,
        });
      expect(await resume()).toMatchObject({ failure: 'planRefused' });
      expectValue(await serve(ledger, place.tenant, '1.0.0', { status: 'published' }));
      expect((await read(place)).plan.status).toBe('held');
      expect(expectValue(await resume()).value.status).toBe('running');
    });

    test.each(['rolled_back', 'deprecated'] as const)(
      '%s cancels the plan (§27.3)',
      async (status) => {
        const place = await planned('10:60 50:60');
        expectValue(await serve(ledger, place.tenant, '1.0.0', { status }));
        expect((await read(place)).plan.status).toBe('cancelled');
        const again = ledger.createPlan({
          scope: place.scope,
          input: { ...place.name, definition: definition('20:60') },
          actor: PUBLISHER,
        });
        expect(await again).toMatchObject({ failure: 'planRefused' });
      },
    );

    test('withdrawing the release cancels its plan (§27.8)', async () => {
      const place = await planned('10:60', { status: 'paused' });
      const withdrawn = await ledger.withdrawRelease({
        scope: place.scope,
        input: place.name,
        actor: PUBLISHER,
      });
      expectValue(withdrawn);
      const [row] = await database.query<{ status: string }>(
        'SELECT status FROM rollout_plans WHERE id = $1',
        [place.plan.id],
      );
      expect(row).toEqual({ status: 'cancelled' });
      expect((await auditOf(place)).map(({ action }) => action).slice(-2)).toEqual([
        ...['plan.cancel', 'release.withdraw'],
      ]);
    });

    test('what somebody asks of a plan is audited with the reason (§27.3)', async () => {
      const place = await planned('10:60 50:60');
      for (const action of ['hold', 'resume', 'advance', 'cancel'] as const) {
        const { scope, name: release } = place;
        expectValue(
          await ledger.steerPlan({
            scope,
            input: { ...release, action },
            actor: OPERATOR,
            reason: `why ${action}`,
          }),
        );
      }
      const entries = (await auditOf(place)).slice(-4);
      expect(entries.map(({ action, actor, reason }) => [action, actor, reason])).toEqual([
        ['plan.hold', 'admin-token', 'why hold'],
        ['plan.resume', 'admin-token', 'why resume'],
        ['plan.advance', 'admin-token', 'why advance'],
        ['plan.cancel', 'admin-token', 'why cancel'],
      ]);
      expect((await read(place)).plan.reason).toBe('Cancelled');
    });

    describe('signals (§27.6)', () => {
      type Signals = readonly {
        readonly kind: string;
        readonly devices: number;
        readonly known?: number;
        readonly pushed?: number;
        readonly part?: number;
      }[];

      async function note({ id }: Place, signals: Signals): Promise<void> {
        for (const signal of signals) {
          const { kind, devices, known = 43_200, pushed = -1, part = 0 } = signal;
          await database.query(
            `INSERT INTO release_signals (release_id, kind, part, known, pushed, at, devices)
             VALUES ($1, $2, $3, $4, $5, now(), $6)`,
            [id, kind, part, known, pushed, devices],
          );
        }
      }

      async function health({ scope, name: release }: Place, knownForMinutes?: number) {
        return expectValue(await ledger.readHealth(scope, release, knownForMinutes));
      }

      test('add up the rows of all parts', async () => {
        const place = await published();
        await note(place, [
          ...[0, 1, 2].map((part) => ({ kind: 'offered', devices: 100, part })),
          ...[0, 1].map((part) => ({ kind: 'installed', devices: 100, part })),
          { kind: 'reverted', devices: 10 },
        ]);
        expect(await health(place)).toMatchObject({
          ...{ offered: 300, installed: 200, reverted: 10, stuck: 0, silent: 0, failed: 0 },
          rates: { reverted: { percent: 5 } },
          verdict: 'too early',
        });
      });

      test('count devices that were known for long enough, or reported so', async () => {
        const place = await published();
        await note(place, [
          { kind: 'offered', devices: 1, known: 0 },
          { kind: 'offered', devices: 2, known: 60 },
          { kind: 'offered', devices: 4, known: 1440, pushed: 0 },
        ]);
        expect((await health(place)).offered).toBe(4);
        expect((await health(place, 60)).offered).toBe(6);
        expect((await health(place, 0)).offered).toBe(7);
        const guards = { ...USUAL_GUARDS, knownForMinutes: 0, source: 'push' as const };
        const plan = definition('10:60', { guards });
        expectValue(
          await ledger.createPlan({
            scope: place.scope,
            input: { ...place.name, definition: plan },
            actor: PUBLISHER,
          }),
        );
        expect((await health(place)).offered).toBe(4);
      });

      test('a guard that trips holds the plan and pauses the release, audited (§27.5)', async () => {
        const guards = { ...USUAL_GUARDS, revertedPercent: 3, confirmMinutes: 10 };
        const place = await planned('10:60 50:60', {}, { guards });
        await drive(place, place.plan);
        await note(place, [
          { kind: 'offered', devices: 1000 },
          { kind: 'installed', devices: 1000 },
          { kind: 'reverted', devices: 100 },
        ]);
        expect((await drive(place, place.plan)).status).toBe('running');
        expect(await isToDrive(place.plan)).toBe(false);
        await pass(11);
        expect(await isToDrive(place.plan)).toBe(true);
        const tripped = await drive(place, place.plan);
        expect(tripped.status).toBe('held');
        expect(tripped.reason).toMatch(/^reverted: 100 of 1000 devices, 10 %/);
        const owned = expectValue(await ledger.readOwnedRelease(place.scope, place.id));
        expect(owned.release.status).toBe('paused');
        const { health: seen } = await read(place);
        expect(seen.verdict).toBe('unhealthy');
        expect(seen.rates.reverted).toMatchObject({ limit: 3, tripped: true });
        const actions = (await auditOf(place))
          .slice(-2)
          .map(({ action, actor }) => [action, actor]);
        const actor = `plan:${place.plan.id}`;
        expect(actions).toEqual([
          ['plan.hold', actor],
          ['release.serve', actor],
        ]);
      });

      test('a step waits while the record has not caught up (§27.2)', async () => {
        const place = await planned('10:60 50:60', {}, { guards: USUAL_GUARDS });
        const unmeasured = await ledger.drivePlan({ id: place.plan.id, ...place.name }, undefined);
        expect(expectValue(unmeasured).value.step).toBeNull();
        expect((await drive(place, place.plan, { seenUpToMs: 0 })).step).toBe(0);
        const pushed = await ledger.steerPlan({
          scope: place.scope,
          input: { ...place.name, action: 'advance' },
          actor: PUBLISHER,
        });
        expectValue(pushed);
        expect((await drive(place, place.plan, { seenUpToMs: 0 })).step).toBe(0);
        expect((await drive(place, place.plan)).step).toBe(1);
      });
    });

    describe('failures (§27.9)', () => {
      async function device(place: Place, deviceId: string, seenAt: string, offered?: string) {
        await database.query(
          `INSERT INTO devices (app_id, device_id, first_seen, last_seen, labels_revision, channel, version,
             platform, arch, source, client, bundle, last_offered_release_id, labels, label_times)
           VALUES ($1, $2, $3, $3, 0, 'stable', '0.9.0', 'linux', '', 'pull', 'u', '', $4, '{}', '{}')`,
          [place.tenant.appId, deviceId, seenAt, offered ?? null],
        );
        if (offered === undefined || seenAt !== LONG_AGO) return;
        await database.query(
          `INSERT INTO release_devices (app_id, device_id, release_id, known, pushed, offered_at)
           VALUES ($1, $2, $3, 43200, -1, now())`,
          [place.tenant.appId, deviceId, offered],
        );
      }

      const LONG_AGO = '2020-01-01T00:00:00Z';

      function failure(place: Place, deviceId: string, network: string | undefined = '192.0.2.1') {
        return {
          ...{ appId: place.tenant.appId, channel: 'stable', deviceId, runs: '0.9.0', network },
          ...{ canonicalVersion: '1.0.0', reason: 'disk full' },
        };
      }

      async function failed({ scope, name: release }: Place): Promise<number> {
        return expectValue(await ledger.readHealth(scope, release)).failed;
      }

      test('count a device once, only if it was known and offered the release', async () => {
        const place = await published();
        await device(place, 'old', LONG_AGO, place.id);
        await device(place, 'unoffered', LONG_AGO);
        await device(place, 'new', new Date().toISOString(), place.id);
        const ids = ['old', 'old', 'unoffered', 'new', 'unheard-of'];
        await ledger.recordFailures(ids.map((id) => failure(place, id)));
        await ledger.recordFailures([failure(place, 'old')]);
        expect(await failed(place)).toBe(1);
      });

      test('of one address count at most three, or 1 % of the base; reports are not bounded', async () => {
        const place = await published();
        const ids = Array.from({ length: 10 }, (_, index) => `device-${index}`);
        for (const id of ids) await device(place, id, LONG_AGO, place.id);
        await ledger.recordFailures(ids.map((id) => failure(place, id)));
        expect(await failed(place)).toBe(3);
        const reported = ids.map((id) => ({
          ...failure(place, `reported-${id}`),
          network: undefined,
        }));
        for (const { deviceId } of reported) await device(place, deviceId, LONG_AGO, place.id);
        expect(await ledger.recordReportedFailures(reported, PUBLISHER)).toBeUndefined();
        expect(await failed(place)).toBe(13);
      });

      test('a version that the channel does not have counts nowhere', async () => {
        const place = await published();
        await device(place, 'old', LONG_AGO, place.id);
        await ledger.recordFailures([{ ...failure(place, 'old'), canonicalVersion: '7.7.7' }]);
        expect(await failed(place)).toBe(0);
      });
    });
  });
}

function nameOf({ app }: TestTenant) {
  return { app, channel: 'stable', canonicalVersion: '1.0.0' };
}
