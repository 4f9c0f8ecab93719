// Rules of the overview in the ledger: facts of channels, and what needs a person.

import { expect, test } from 'vitest';
import type { MistakenId } from '../../../src/contract/ref.ts';
import { USUAL_GUARDS } from '../../../src/domain/rollout/judge-health.ts';
import { definition } from '../../domain/rollout/plan-fixture.ts';
import { checkIn, iso, START } from './fleet-fixture.ts';
import { createTenant, type TestTenant } from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const ARTIFACT = { platform: 'linux', url: 'https://dl.example.com/a' };

export function describeOverview({ database, ledger }: LedgerUnderTest): void {
  test('channels come with their devices, those on the newest release, and the next step of its plan', async () => {
    const tenant = await createTenant(ledger, ['stable', 'beta']);
    const artifacts = [ARTIFACT];
    await tenant.release('1.0.0', { artifacts });
    const plan = definition('10:60 50:60');
    await tenant.release('v1.1.0', {
      ...{ canonicalVersion: '1.1.0', rolloutPct: 0, plan, artifacts },
    });
    await ledger.recordCheckIns([
      checkIn(tenant, 'a', { version: '1.1.0' }),
      checkIn(tenant, 'b', { version: '1.0.0' }),
      checkIn(tenant, 'c', { version: '1.0.0', channel: 'beta' }),
    ]);
    const [app] = await ledger.listAppOverviews(tenant.organizationId, iso(START));
    expect(app?.channels).toMatchObject([
      { name: 'beta', devices: 1, onNewest: 0, plan: null },
      {
        ...{ name: 'stable', devices: 2, onNewest: 1 },
        plan: { version: 'v1.1.0', status: 'running', nextRollout: 10, isGuarded: false },
      },
    ]);
  });

  const kindsOf = async ({ organizationId }: TestTenant) => {
    const { items } = await ledger.readAttention(organizationId);
    return items.map(({ kind, version, name }) => [kind, version ?? name]);
  };

  test('of plans, those that wait for a guard, are held or tripped', async () => {
    const tenant = await createTenant(ledger);
    const plan = definition('10:60', { guards: USUAL_GUARDS });
    await tenant.release('1.0.0', { rolloutPct: 0, plan, artifacts: [ARTIFACT] });
    const since = iso(START);
    const NONE = { waitingFor: null, reason: null, tripped: [] };
    const place = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    for (const [status, parts, ...expected] of [
      ['running', {}],
      // Its hours are closed.
      ['running', { waitingFor: { guard: null, since } }],
      [
        ...['running', { waitingFor: { guard: 'stuck', since, reason: 'stuck is 9 %' } }],
        { ...place, kind: 'waiting', since, why: 'stuck is 9 %' },
      ],
      ['held', { reason: 'Olga held it' }, { ...place, kind: 'held', why: 'Olga held it' }],
      [
        ...['held', { reason: 'stuck', tripped: ['stuck'] }],
        { ...place, kind: 'tripped', since: null, why: 'stuck' },
      ],
    ] as const) {
      await database.query(
        `UPDATE rollout_plans SET status = $2, state = (state::jsonb || $3::jsonb)::json
         FROM channels WHERE channels.id = rollout_plans.channel_id AND channels.app_id = $1`,
        [tenant.appId, status, JSON.stringify({ ...NONE, ...(parts as object), status })],
      );
      const { items } = await ledger.readAttention(tenant.organizationId);
      expect(items).toMatchObject(expected);
    }
  });

  test('releases that nobody can install, landed paused or were called back need a person', async () => {
    const tenant = await createTenant(ledger);
    await tenant.release('1.0.0', { artifacts: [ARTIFACT] });
    await tenant.release('1.1.0', { status: 'paused' });
    await database.query(`UPDATE releases SET hold = 'by-hand' WHERE version = '1.1.0'`);
    await tenant.release('1.2.0', { artifacts: [ARTIFACT] });
    await tenant.serve('1.2.0', { status: 'paused' });
    expect(await kindsOf(tenant)).toEqual([['landed', '1.1.0']]);
    await database.query(`UPDATE releases SET called_back = true WHERE version = '1.2.0'`);
    await tenant.release('1.3.0', { artifacts: [{ platform: 'linux' }] });
    expect(await kindsOf(tenant)).toEqual([
      ...[
        ['uninstallable', '1.3.0'],
        ['called-back', '1.2.0'],
        ['landed', '1.1.0'],
      ],
    ]);
    const { items } = await ledger.readAttention(tenant.organizationId);
    for (const { since } of items) expect(Date.parse(since ?? '')).toBeGreaterThan(START);
    await tenant.release('1.4.0', { artifacts: [ARTIFACT] });
    expect((await kindsOf(tenant)).map(([kind]) => kind)).not.toContain('uninstallable');
  });

  test('ids that many devices share by mistake are told for a week, with their sum, to their organization alone', async () => {
    const [tenant, stranger] = [await createTenant(ledger), await createTenant(ledger)];
    const note = (kind: MistakenId, count: number) =>
      ledger.recordMistakenIds([
        { appId: tenant.appId, kind, count },
        { appId: 'app_unknown', kind, count },
      ]);
    await note('undefined', 3);
    await note('undefined', 4);
    await note('template', 1);
    const { items } = await ledger.readAttention(tenant.organizationId);
    const told = { kind: 'mistaken-ids', app: tenant.app, channel: null };
    expect(items).toMatchObject([
      { ...told, name: 'template', count: 1 },
      { ...told, name: 'undefined', count: 7 },
    ]);
    expect(await kindsOf(stranger)).toEqual([]);
    const age = `UPDATE mistaken_ids SET last_at = last_at - interval '8 days' WHERE app_id = $1`;
    await database.query(age, [tenant.appId]);
    expect(await kindsOf(tenant)).toEqual([]);
    await note('undefined', 2);
    const [again] = (await ledger.readAttention(tenant.organizationId)).items;
    expect([again?.name, again?.count]).toEqual(['undefined', 2]);
    expect(Date.parse(again?.since ?? '')).toBeGreaterThan(Date.now() - 3_600_000);
  });

  test('destinations that fail and edges that were refused are told to their organization alone', async () => {
    const tenant = await createTenant(ledger);
    const stranger = await createTenant(ledger);
    const destination = (name: string, state: string) =>
      database.query(
        `INSERT INTO notification_destinations (id, organization_id, name, kind, url, created_by,
           is_enabled, disabled_why, failing_since)
         VALUES ('dst_' || $1 || $2, $2, $1, 'slack', 'https://a.example', 'x', ${state})`,
        [name, tenant.organizationId],
      );
    await destination('works', 'true, NULL, NULL');
    await destination('fails', 'true, NULL, clock_timestamp()');
    await destination('off by hand', 'false, NULL, NULL');
    await destination('off', `false, 'five days without a success', clock_timestamp()`);
    await database.query(
      `INSERT INTO edge_tokens (id, organization_id, name, prefix, secret_hash, created_by, refusal_told_at)
       VALUES ($1, $1, 'Berlin', $1, 'x', 'x', clock_timestamp())`,
      [tenant.organizationId],
    );
    expect(await kindsOf(tenant)).toEqual([
      ...[
        ['disabled', 'off'],
        ['failing', 'fails'],
        ['edge', 'Berlin'],
      ],
    ]);
    expect(await kindsOf(stranger)).toEqual([]);
  });
}
