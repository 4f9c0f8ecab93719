// Rules of plans that wait, of the clock that they wait by, and of how they are given out to nodes, run
// unchanged on every database (docs/contract.md 27.2, 27.5, 27.10).

import { describe, expect, test } from 'vitest';
import { USUAL_GUARDS } from '../../../src/domain/rollout/judge-health.ts';
import { USUAL_KEEPING } from '../../../src/store/ledger/fleet/check-ins.ts';
import { createSqlLedger } from '../../../src/store/ledger/sql-ledger.ts';
import { definition } from '../../domain/rollout/plan-fixture.ts';
import { MINUTE_MS } from './fleet-fixture.ts';
import { expectValue, PUBLISHER } from './ledger-fixture.ts';
import { planHands } from './plan-hands.ts';
import type { LedgerUnderTest } from './test-database.ts';

export function describePlanWaits({ database }: LedgerUnderTest): void {
  describe('plans that wait', () => {
    const keeping = { ...USUAL_KEEPING, freshnessMs: MINUTE_MS };
    const ledger = createSqlLedger(database, undefined, keeping);
    const { planned, steer, drive, pass, take } = planHands({ ledger, database });

    test('two nodes count each moment once, on a database of which nothing is known (§27.2)', async () => {
      await planned('10:60');
      const other = createSqlLedger(database);
      const first = await ledger.beginPlanTurn(undefined);
      let wanted = first.countedMs;
      let last = first;
      for (let turn = 0; turn < 20; turn++) {
        const next = await (turn % 2 === 0 ? other : ledger).beginPlanTurn(undefined);
        wanted += Math.min(next.nowMs - last.nowMs, 5000);
        last = next;
      }
      expect(last.countedMs).toBe(wanted);
    });

    test('a plan is given to one node, and again once it was driven or not for a while (§27.2)', async () => {
      const place = await planned('10:60');
      expect(await take(place)).toEqual([place.plan.id]);
      expect(await take(place)).toEqual([]);
      await database.query('UPDATE plan_clock SET counted_ms = counted_ms + 3000');
      expect(await take(place)).toEqual([place.plan.id]);
      await drive(place);
      expect(await take(place)).toEqual([]);
      await pass(61);
      expect(await take(place)).toEqual([place.plan.id]);
    });

    test('steps that are due are given out before checks (§27.2)', async () => {
      const checked = await planned('10:600 50:0', { guards: USUAL_GUARDS });
      await drive(checked);
      await pass(1);
      const due = await planned('10:60');
      expect(await take(checked, due)).toEqual([due.plan.id, checked.plan.id]);
    });

    test('a plan that waits for a guard is looked at as its guards are, not at every turn (§27.10)', async () => {
      const guards = { ...USUAL_GUARDS, failedPercent: 1 };
      const place = await planned('10:1 50:0', { guards });
      expect((await drive(place)).step).toBe(0);
      await pass(2);
      const waiting = await drive(place);
      expect(waiting).toMatchObject({ status: 'running', step: 0, nextAt: null });
      expect(waiting.waitingFor).toMatchObject({
        ...{ guard: 'failed', reason: 'failed: 0 devices to judge by, and its guard needs 100' },
      });
      expect(await take(place)).toEqual([]);
      await pass(1);
      expect(await take(place)).toEqual([place.plan.id]);
      expect(expectValue(await steer(place, 'advance')).value.waitingFor).toBeNull();
      expect((await drive(place)).step).toBe(1);
    });

    describe('marks of regions (§27.13)', () => {
      const guards = { ...USUAL_GUARDS, failedPercent: 1 };

      async function isWanted(region: string): Promise<boolean> {
        return (await ledger.beginPlanTurn(region)).isMarkWanted;
      }

      /** Notes a mark at the present time of plans. */
      async function note(region: string): Promise<number> {
        const { countedMs } = await ledger.beginPlanTurn(region);
        await ledger.noteRegion(region, countedMs);
        return countedMs;
      }

      async function age(minutes: number, ...regions: string[]): Promise<void> {
        await database.query(
          `UPDATE region_marks SET noted_at = noted_at - $1::integer * interval '1 minute'
           WHERE region = ANY ($2::text[])`,
          [minutes, regions],
        );
      }

      async function marks() {
        return new Map((await ledger.listRegions()).map((each) => [each.region, each]));
      }

      test('one is wanted once a minute, and while a plan with guards is due after it', async () => {
        await database.query('DELETE FROM region_marks');
        await database.query(
          `UPDATE rollout_plans SET status = 'cancelled' WHERE status = 'running'`,
        );
        expect(await isWanted('east')).toBe(true);
        await note('east');
        expect(await isWanted('east')).toBe(false);
        expect(await isWanted('west')).toBe(true);
        await age(2, 'east');
        expect(await isWanted('east')).toBe(true);
        await note('east');
        await planned('10:1');
        await pass(1);
        expect(await isWanted('east')).toBe(false);
        await planned('10:1', { guards });
        expect(await isWanted('east')).toBe(true);
        await age(1, 'east');
        await note('east');
        expect(await isWanted('east')).toBe(false);
      });

      test('one never goes back, and of many within half a second one is written', async () => {
        await database.query('DELETE FROM region_marks');
        for (const ms of [5000, 6000]) await ledger.noteRegion('east', ms);
        expect((await marks()).get('east')?.recordedMs).toBe(5000);
        await age(2, 'east');
        await ledger.noteRegion('east', 4000);
        expect((await marks()).get('east')?.recordedMs).toBe(5000);
      });

      test('a region is silent after an hour in which others reach the ledger, and forgotten after a day', async () => {
        await database.query('DELETE FROM region_marks');
        const isSilent = async () => (await marks()).get('west')?.isSilent;
        for (const region of ['east', 'west', 'gone']) await note(region);
        await age(180, 'east', 'west', 'gone');
        await note('east');
        expect(await isSilent()).toBe(false);
        await note('west');
        await age(59, 'west');
        expect(await isSilent()).toBe(false);
        await age(2, 'west');
        expect(await isSilent()).toBe(true);
        await age(24 * 60 + 1, 'gone');
        await note('east');
        expect([...(await marks()).keys()].sort()).toEqual(['east', 'west']);
      });

      test('a plan that waits for a region counts as late, and is looked at as its guards are', async () => {
        const place = await planned('10:1 50:0', { guards, onBlind: 'advance' });
        expect((await drive(place)).step).toBe(0);
        await pass(3);
        const before = await ledger.countPlans(1000);
        expect(await drive(place, { seenUpToMs: 0, region: 'west' })).toMatchObject({
          ...{ step: 0, nextAt: null, waitingFor: { guard: null, region: 'west' } },
        });
        const counts = await ledger.countPlans(1000);
        expect(counts).toEqual(before);
        expect(counts.late).toBeGreaterThan(0);
        expect(await take(place)).toEqual([]);
        const east = await note('east');
        await database.query('UPDATE region_marks SET recorded_ms = $1', [east - 3 * MINUTE_MS]);
        expect(await isWanted('east')).toBe(true);
        await pass(1);
        expect(await take(place)).toEqual([place.plan.id]);
        expect((await drive(place)).step).toBe(1);
      });
    });

    test('a plan whose hours are closed is given out when they open (§27.11)', async () => {
      const [{ day }] = (await database.query<{ day: number }>(
        `SELECT extract(dow FROM clock_timestamp() AT TIME ZONE 'UTC')::int AS day`,
      )) as [{ day: number }];
      const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
      const raiseBetween = {
        days: [days[(day + 3) % 7] ?? 'sun'],
        ...{ from: '09:00', to: '17:00', timeZone: 'UTC' },
      };
      const place = await planned('10:0', { raiseBetween });
      const closed = await drive(place);
      expect(closed).toMatchObject({ step: null, waitingFor: { guard: null } });
      expect(Date.parse(closed.nextAt ?? '')).toBeGreaterThan(Date.now());
      expect(await take(place)).toEqual([]);
      await database.query(
        `UPDATE rollout_plans SET start_at_ms = 0 WHERE id = $1 AND start_at_ms = $2`,
        [place.plan.id, Date.parse(closed.nextAt ?? '')],
      );
      expect(await take(place)).toEqual([place.plan.id]);
    });

    test('a plan of a release that is out does not raise at once; a plan that is tried changes nothing (§27.2, §27.12)', async () => {
      const place = await planned('10:60 50:60', {}, { rolloutPct: 10 });
      expect(place.plan).toMatchObject({ status: 'running', step: 0 });
      expect((await drive(place)).step).toBe(0);
      expectValue(await steer(place, 'cancel'));
      const { scope, name } = place;
      const input = { ...name, definition: definition('10:60 50:60') };
      const tried = await ledger.createPlan({ scope, actor: PUBLISHER, mode: 'try', input });
      const { value, seen } = expectValue(tried);
      expect(value.step).toBe(0);
      expect(seen?.start).toEqual({ rolloutPct: 10, known: 0 });
      const after = seen?.places[0].after;
      expect(after?.releases.find(({ version }) => version === '1.0.0')?.rolloutPct).toBe(50);
      expect(await ledger.readPlan(scope, name)).toMatchObject({ plan: { status: 'cancelled' } });
    });

    test('a preset goes on unjudged where fewer than 1,000 devices are known (§27.12)', async () => {
      const parts = { preset: 'careful', onBlind: undefined } as const;
      const place = await planned('10:60', { ...parts, guards: USUAL_GUARDS });
      expect(place.plan).toMatchObject({ preset: 'careful', onBlind: 'advance' });
    });
  });
}
