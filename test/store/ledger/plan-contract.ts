// Rules of rollout plans that the ledger's transactions carry (docs/contract.md 27). What a plan does when is
// tested in test/domain/rollout.

import { describe, expect, test } from 'vitest';
import { USUAL_GUARDS } from '../../../src/domain/rollout/judge-health.ts';
import { definition } from '../../domain/rollout/plan-fixture.ts';
import { createTenant, expectValue, OPERATOR, PUBLISHER } from './ledger-fixture.ts';
import { CAUGHT_UP, type Place, planHands } from './plan-hands.ts';
import type { LedgerUnderTest } from './test-database.ts';

const LONG_AGO = '2020-01-01T00:00:00Z';

export function describePlans({ database, ledger }: LedgerUnderTest): void {
  describe('rollout plans', () => {
    const { published, planned, create, steer, drive, read, pass, take } = planHands({
      ...{ ledger, database },
    });

    async function auditOf({ tenant }: Place) {
      return [...(await tenant.audit())].reverse();
    }

    test('a plan is stored with its audit entry and read as it was made (§27.1)', async () => {
      const guards = { ...USUAL_GUARDS, failedPercent: 2.5 };
      const place = await planned('10:60 100:0', { guards, onTrip: 'hold' });
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
      expect((await auditOf(place)).at(-1)).toMatchObject({
        ...{ action: 'plan.create', actor: 'account:publisher@example.com', before: null },
        subject: `${place.tenant.app}/stable@1.0.0`,
      });
    });

    test('a release has one open plan, and another one after it (§27.1)', async () => {
      const place = await planned('10:60');
      expect(await create(place, '20:60')).toMatchObject({ failure: 'planRefused' });
      expectValue(await steer(place, 'cancel'));
      const second = expectValue(await create(place, '20:60')).value;
      expect((await read(place)).plan.id).toBe(second.id);
    });

    test('unknown names and tenants are refused as unknown (§27.1)', async () => {
      const { scope, name, ...place } = await published();
      const { organizationId: other } = await createTenant(ledger);
      for (const [of, failure] of [
        [{ scope: other, name }, 'unknownApp'],
        [{ scope, name: { ...name, channel: 'x' } }, 'unknownChannel'],
        [{ scope, name: { ...name, canonicalVersion: '9.9.9' } }, 'unknownRelease'],
      ] as const) {
        expect(await create(of, '10:60')).toMatchObject({ failure });
      }
      const unknown = { failure: 'unknownPlan' };
      expect(await ledger.readPlan(scope, name)).toMatchObject(unknown);
      expect(await steer({ ...place, scope, name }, 'hold')).toMatchObject(unknown);
    });

    test('a step raises the rollout once, audited as the plan, however often it is driven (§27.2)', async () => {
      const place = await planned('10:60 50:60');
      expect(await take(place)).toHaveLength(1);
      const drives = Array.from({ length: 8 }, () => drive(place));
      for (const plan of await Promise.all(drives)) expect(plan.step).toBe(0);
      expect(await take(place)).toEqual([]);
      await pass(61);
      await Promise.all(Array.from({ length: 8 }, () => drive(place)));
      const { plan } = await read(place);
      expect(plan.step).toBe(1);
      const served = (await auditOf(place)).filter(({ action }) => action === 'release.serve');
      expect(served.map(({ actor, after, reason }) => [actor, after, reason])).toEqual([
        [`plan:${plan.id}`, expect.objectContaining({ rolloutPct: 10 }), 'Step 1 of 2'],
        [`plan:${plan.id}`, expect.objectContaining({ rolloutPct: 50 }), 'Step 2 of 2'],
      ]);
      await pass(61);
      expect(await take(place)).toHaveLength(1);
      expect((await drive(place)).status).toBe('completed');
      const again = await ledger.drivePlan({ id: plan.id, ...place.name }, CAUGHT_UP);
      expect(again).toMatchObject({ failure: 'unknownPlan' });
    });

    test('time without the ledger counts 5 s at most, and a clock that goes back none (§27.2)', async () => {
      const countedAfter = async (seconds: number) => {
        await database.query(
          `UPDATE plan_clock SET read_at = clock_timestamp() + $1 * interval '1 second'`,
          [seconds],
        );
        return (await ledger.beginPlanTurn(undefined)).countedMs;
      };
      const { countedMs } = await ledger.beginPlanTurn(undefined);
      const after = await countedAfter(-3600);
      expect(after - countedMs).toBeLessThanOrEqual(6000);
      expect(after - countedMs).toBeGreaterThanOrEqual(5000);
      const back = await countedAfter(3600);
      expect(back - after).toBeLessThanOrEqual(1000);
      expect(back).toBeGreaterThanOrEqual(after);
    });

    test('a release born under a plan, or first published under one, begins at 0 % (§27.3, §27.8)', async () => {
      const born = await published({ plan: definition('10:60'), rolloutPct: 100 });
      const owned = expectValue(await ledger.readOwnedRelease(born.scope, born.id));
      expect(owned.release.rolloutPct).toBe(0);
      const { plan } = await read(born);
      expect((await drive({ ...born, plan })).step).toBe(0);

      const place = await planned('10:60', {}, { status: 'paused', rolloutPct: 100 });
      expect([place.plan.status, await take(place)]).toEqual(['scheduled', []]);
      await place.tenant.serve('1.0.0', { rollout: 70 });
      const served = await place.tenant.serve('1.0.0', { status: 'published' });
      expect(served.value.rolloutPct).toBe(0);
      expect(await take(place)).toHaveLength(1);
      expect((await drive(place)).step).toBe(0);
    });

    test('pausing by somebody holds the plan in the same transaction (§27.3)', async () => {
      const place = await planned('10:60 50:60');
      await drive(place);
      await place.tenant.serve('1.0.0', { status: 'paused' });
      expect((await read(place)).plan).toMatchObject({
        ...{ status: 'held', reason: 'The release was paused', nextAt: null },
      });
      expect(await steer(place, 'resume')).toMatchObject({ failure: 'planRefused' });
      await place.tenant.serve('1.0.0', { status: 'published' });
      expect((await read(place)).plan.status).toBe('held');
      expect(expectValue(await steer(place, 'resume')).value.status).toBe('running');
    });

    test('rolling the release back, or withdrawing it, cancels the plan (§27.3)', async () => {
      const back = await planned('10:60 50:60');
      await back.tenant.serve('1.0.0', { status: 'rolled_back' });
      expect((await read(back)).plan.status).toBe('cancelled');
      expect(await create(back, '20:60')).toMatchObject({ failure: 'planRefused' });

      const gone = await planned('10:60', {}, { status: 'paused' });
      await gone.tenant.withdraw('1.0.0');
      const stored = 'SELECT status FROM rollout_plans WHERE id = $1';
      expect(await database.query(stored, [gone.plan.id])).toEqual([{ status: 'cancelled' }]);
      expect((await auditOf(gone)).map(({ action }) => action).slice(-2)).toEqual([
        ...['plan.cancel', 'release.withdraw'],
      ]);
    });

    test('what somebody asks of a plan is audited with the reason (§27.3)', async () => {
      const place = await planned('10:60 50:60');
      const actions = ['hold', 'resume', 'advance', 'cancel'] as const;
      for (const action of actions) {
        expectValue(await steer(place, action, `why ${action}`, OPERATOR));
      }
      const entries = (await auditOf(place)).slice(-4);
      expect(entries.map(({ action, actor, reason }) => [action, actor, reason])).toEqual(
        actions.map((action) => [`plan.${action}`, 'admin-token', `why ${action}`]),
      );
      expect((await read(place)).plan.reason).toBe('Cancelled');
    });

    test('signals add up the rows of all parts, of devices known for long enough, or reported so (§27.6)', async () => {
      const place = await published();
      for (const [kind, devices, known, pushed, part] of [
        ...[0, 1, 2].map((part) => ['offered', 100, 43_200, -1, part] as const),
        ...[0, 1].map((part) => ['installed', 100, 43_200, -1, part] as const),
        ['reverted', 10, 43_200, -1, 0],
        ...([0, 60] as const).map((known) => ['offered', 1, known, -1, 0] as const),
        ['offered', 4, 1440, 0, 0],
      ] as const) {
        await database.query(
          `INSERT INTO release_signals (release_id, kind, part, known, pushed, at, devices)
           VALUES ($1, $2, $3, $4, $5, now(), $6)`,
          [place.id, kind, part, known, pushed, devices],
        );
      }
      const health = async (knownForMinutes?: number) =>
        expectValue(await ledger.readHealth(place.scope, place.name, knownForMinutes));
      expect(await health()).toMatchObject({
        ...{ offered: 304, installed: 200, reverted: 10, stuck: 0, silent: 0, failed: 0 },
        ...{ rates: { reverted: { percent: 5 } }, verdict: 'too early' },
      });
      expect((await health(60)).offered).toBe(305);
      expect((await health(0)).offered).toBe(306);
      const guards = { ...USUAL_GUARDS, knownForMinutes: 0, source: 'push' as const };
      expectValue(await create(place, '10:60', { guards }));
      expect((await health()).offered).toBe(4);
    });

    test('a failure counts a device once, if it was known and offered the release, and of one address three (§27.9)', async () => {
      const { tenant, id: releaseId, ...place } = await published();
      const { appId } = tenant;
      const device = async (id: string, seenAt = LONG_AGO, offered: string | null = releaseId) => {
        await database.query(
          `INSERT INTO devices (app_id, device_id, first_seen, last_seen, labels_revision, channel, version,
             platform, arch, source, client, bundle, last_offered_release_id, labels, label_times)
           VALUES ($1, $2, $3, $3, 0, 'stable', '0.9.0', 'linux', '', 'pull', 'u', '', $4, '{}', '{}')`,
          [appId, id, seenAt, offered],
        );
        if (offered === null || seenAt !== LONG_AGO) return;
        await database.query(
          `INSERT INTO release_devices (app_id, device_id, release_id, known, pushed, offered_at)
           VALUES ($1, $2, $3, 43200, -1, now())`,
          [appId, id, offered],
        );
      };
      const of = (id: string, network: string | undefined, canonicalVersion = '1.0.0') => ({
        ...{ appId, channel: 'stable', deviceId: id, runs: '0.9.0', network },
        ...{ canonicalVersion, reason: 'disk full' },
      });
      const failed = async () =>
        expectValue(await ledger.readHealth(place.scope, place.name)).failed;
      await device('old');
      await device('unoffered', LONG_AGO, null);
      await device('new', new Date().toISOString());
      await ledger.recordFailures([of('old', '192.0.2.1', '7.7.7')]);
      expect(await failed()).toBe(0);
      const told = ['old', 'old', 'unoffered', 'new', 'unheard-of'];
      await ledger.recordFailures(told.map((id) => of(id, '192.0.2.1')));
      await ledger.recordFailures([of('old', '192.0.2.1')]);
      expect(await failed()).toBe(1);
      const ids = Array.from({ length: 8 }, (_, index) => `device-${index}`);
      for (const id of ids) await device(id);
      await ledger.recordFailures(ids.slice(0, 3).map((id) => of(id, '192.0.2.1')));
      expect(await failed()).toBe(3);
      // Those of a report with a key are not bounded.
      const reported = ids.slice(3).map((id) => of(id, undefined));
      expect(await ledger.recordReportedFailures(reported, PUBLISHER)).toBeUndefined();
      expect(await failed()).toBe(8);
    });
  });
}
