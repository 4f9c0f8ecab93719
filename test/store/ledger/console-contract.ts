// Rules of what the console reads from the ledger.

import { expect, test } from 'vitest';
import { fail } from '../../../src/contract/failure.ts';
import { KEY_RIGHTS } from '../../../src/contract/resource.ts';
import { writeInBulk } from '../../support/write-in-bulk.ts';
import { checkIn, HOUR_MS, iso, labelsOf, START } from './fleet-fixture.ts';
import {
  createTenant,
  expectValue,
  OPERATOR,
  type TestTenant,
  tenantOfEach,
} from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const ARTIFACT = { platform: 'linux', url: 'https://dl.example.com/a' };
const DAY_MS = 24 * HOUR_MS;

export function describeConsoleReads({ database, ledger }: LedgerUnderTest): void {
  const tenant = tenantOfEach(ledger);
  function appOf({ appId, app, organizationId }: TestTenant) {
    return { id: appId, ref: app, organizationId };
  }

  /**
   * Inserts devices without check-ins, which would take too long: all were seen at START, except every tenth,
   * which was seen a year before.
   */
  async function seed({ appId }: TestTenant, devices: number): Promise<void> {
    await writeInBulk(
      database,
      `INSERT INTO devices (app_id, device_id, first_seen, last_seen, channel, version, platform, arch,
         source, last_offered_release_id, labels)
       SELECT $1::text, lpad(n::text, 8, '0'), $2::timestamptz,
         $2::timestamptz - CASE WHEN n % 10 = 0 THEN interval '1 year' ELSE interval '0' END,
         'stable', '1.0.0', 'linux', '', 'pull', CASE WHEN n % 4 = 0 THEN 'rel_x' END,
         jsonb_build_object('ring', CASE WHEN n % 5 = 0 THEN 'beta' ELSE 'all' END)
       FROM generate_series(1, $3::int) AS n`,
      [appId, iso(START), devices],
    );
    await database.query(
      `INSERT INTO fleet_count_parts (app_id, channel, version, platform, part, devices)
       VALUES ($1, 'stable', '1.0.0', 'linux', 0, $2)`,
      [appId, devices],
    );
  }

  test('releases come highest version first, in pages, with the devices that run them', async () => {
    const tenant = await createTenant(ledger, ['stable', 'beta']);
    for (const version of ['1.10.0', '1.9.0', '2.0.0-rc.1', '2.0.0', '0.1.0']) {
      await tenant.release(version, { artifacts: [ARTIFACT, ARTIFACT] });
    }
    await ledger.recordCheckIns([
      checkIn(tenant, 'a', { version: '1.9.0' }),
      checkIn(tenant, 'b', { version: '1.9.0', platform: 'darwin' }),
      checkIn(tenant, 'c', { version: '1.9.0', channel: 'beta' }),
    ]);
    const page = async (number: number) =>
      expectValue(
        await ledger.listChannelReleases(appOf(tenant), 'stable', { page: number, perPage: 2 }),
      );
    const pages = [await page(1), await page(2), await page(3), await page(4)];
    expect(pages.map(({ releases }) => releases.map(({ version }) => version))).toEqual([
      ['2.0.0', '2.0.0-rc.1'],
      ['1.10.0', '1.9.0'],
      ['0.1.0'],
      [],
    ]);
    for (const { total, fleet: devices } of pages) expect([total, devices]).toEqual([5, 2]);
    expect(pages[1]?.releases[1]).toMatchObject({ devices: 2, artifacts: 2, offered: false });
    for (const name of ['nobody', '', 'nul\u0000']) {
      expect(
        await ledger.listChannelReleases(appOf(tenant), name, { page: 1, perPage: 2 }),
      ).toEqual(fail('unknownChannel'));
    }
  });

  test('a release tells where its devices are, and what became of it', async () => {
    const artifacts = [ARTIFACT];
    await tenant.release('1.0.0', { artifacts });
    await tenant.release('1.1.0', { artifacts, rolloutPct: 50 });
    await tenant.release('1.2.0');
    const { value } = await tenant.release('2.0.0', { artifacts });
    await tenant.serve('2.0.0', { status: 'paused' });
    await ledger.recordCheckIns([
      checkIn(tenant, 'on', { version: '2.0.0' }),
      checkIn(tenant, 'below', { version: '1.0.0', offeredReleaseId: value.id }),
      checkIn(tenant, 'odd', { version: 'no version' }),
      checkIn(tenant, 'above', { version: '3.0.0' }),
      checkIn(tenant, 'unknown', { version: undefined }),
    ]);
    const detail = expectValue(await ledger.readReleaseDetail(appOf(tenant), 'stable', '2.0.0'));
    expect(detail.devices).toEqual({
      on: 1,
      below: 1,
      fleet: 5,
      offered: 1,
      offeredNotOn: 1,
      offeredIsEstimate: false,
      lastOfferedAt: '2026-03-29T00:00:00.000Z',
    });
    expect(detail.release).toMatchObject({ status: 'paused', source: 'api', artifacts });
    expect(detail.history.map(({ action }) => action)).toEqual([
      'release.serve',
      'release.publish',
    ]);
    for (const version of ['9.9.9', '', 'nul\u0000', 'no version']) {
      expect(await ledger.readReleaseDetail(appOf(tenant), 'stable', version)).toEqual(
        fail('unknownRelease'),
      );
    }
  });

  test('apps are listed with their channels: the highest release, and those above all that everybody gets', async () => {
    const tenant = await createTenant(ledger, ['stable', 'beta']);
    const rollouts = [
      ['1.0.0', 100, 'published'],
      ['0.9.0', 10, 'published'],
      ['1.10.0', 5, 'published'],
      ['1.9.0', 50, 'published'],
      ['1.11.0', 20, 'paused'],
    ] as const;
    for (const [version, rolloutPct, status] of rollouts) {
      await tenant.release(version, { rolloutPct, status, artifacts: [ARTIFACT] });
    }
    await ledger.recordCheckIns([
      checkIn(tenant, 'a'),
      checkIn(tenant, 'b', { at: START - 2 * DAY_MS }),
    ]);
    const apps = await ledger.listAppOverviews(tenant.organizationId, iso(START - DAY_MS));
    expect(apps).toMatchObject([
      {
        id: tenant.appId,
        ref: tenant.app,
        name: `App ${tenant.app}`,
        archivedAt: null,
        ddiAuth: null,
        devices: 2,
        devicesDay: 1,
        channels: [
          {
            ...{ name: 'beta', releases: 0, follows: null, newest: null },
            standing: { serving: [], rolling: [] },
          },
          {
            name: 'stable',
            releases: 5,
            newest: expect.objectContaining({ version: '1.11.0', status: 'paused' }),
            follows: null,
            standing: {
              serving: [expect.objectContaining({ version: '1.0.0', on: [] })],
              rolling: [
                expect.objectContaining({ version: '1.10.0', rolloutPct: 5 }),
                expect.objectContaining({ version: '1.9.0', rolloutPct: 50 }),
              ],
            },
          },
        ],
      },
    ]);
    expect(await ledger.listAppOverviews('nobody', iso(START))).toEqual([]);
  });

  test('a small fleet is counted: seen since, by channel, by label', async () => {
    const tenant = await createTenant(ledger, ['stable', 'beta']);
    await ledger.recordCheckIns([
      checkIn(tenant, 'a', { labels: labelsOf({ ring: 'beta', ['__proto__']: '<b>' }) }),
      checkIn(tenant, 'b', { labels: labelsOf({ ring: 'beta' }), channel: 'beta' }),
      checkIn(tenant, 'c', { labels: labelsOf({ ring: 'all' }), at: START - DAY_MS }),
    ]);
    const since = [iso(START), iso(START - DAY_MS), iso(START + 1)];
    expect(await ledger.countSeen(tenant.appId, undefined, since)).toEqual({
      total: 3,
      seen: [2, 3, 0],
      isEstimate: false,
    });
    expect(await ledger.countSeen(tenant.appId, 'beta', since)).toMatchObject({
      total: 1,
      seen: [1, 1, 0],
    });
    expect(await ledger.countLabels(tenant.appId)).toEqual({
      keys: [
        {
          key: 'ring',
          values: [
            { value: 'beta', devices: 2 },
            { value: 'all', devices: 1 },
          ],
        },
        { key: '__proto__', values: [{ value: '<b>', devices: 1 }] },
      ],
      sampled: false,
    });
    const count = (filter: object) => ledger.countDevices(tenant.app, { limit: 1, ...filter });
    expect(await count({ channel: 'beta' })).toEqual({ devices: 1, isEstimate: false });
    expect(await count({})).toEqual({ devices: 3, isEstimate: false });
    const empty = await createTenant(ledger);
    expect(await ledger.countLabels(empty.appId)).toEqual({ keys: [], sampled: false });
    expect(await ledger.countSeen(empty.appId, undefined, since)).toMatchObject({
      seen: [0, 0, 0],
    });
  });

  test('a large fleet is estimated from a part of it, the same each time, and a page looks at a part', async () => {
    const devices = 50_000;
    await seed(tenant, devices);
    const near = (value: number) => ({
      asymmetricMatch: (found: unknown) => Math.abs(Number(found) - value) < devices / 25,
      toString: () => `about ${value}`,
    });
    const seen = await ledger.countSeen(tenant.appId, undefined, [iso(START)]);
    expect(seen).toEqual({ total: devices, seen: [near(0.9 * devices)], isEstimate: true });
    expect(await ledger.countSeen(tenant.appId, undefined, [iso(START)])).toEqual(seen);
    const { keys, sampled } = await ledger.countLabels(tenant.appId);
    expect(sampled).toBe(true);
    expect(keys[0]?.values).toEqual([
      { value: 'all', devices: near(0.8 * devices) },
      { value: 'beta', devices: near(0.2 * devices) },
    ]);
    const [app] = await ledger.listAppOverviews(tenant.organizationId, iso(START));
    expect(app).toMatchObject({ devices, devicesDay: near(0.9 * devices) });
    const wanted = { limit: 10, label: { key: 'ring', value: 'nobody' } };
    const first = expectValue(await ledger.listDevices(tenant.app, wanted));
    expect(first).toEqual({ devices: [], next: '00020000' });
    const second = await ledger.listDevices(tenant.app, { ...wanted, after: '00020000' });
    const third = await ledger.listDevices(tenant.app, { ...wanted, after: '00040000' });
    expect([second, third]).toEqual([
      { devices: [], next: '00040000' },
      { devices: [], next: null },
    ]);
    const idsWith = async (id: string, after?: string) => {
      const page = await ledger.listDevices(tenant.app, { limit: 3, id, after });
      return expectValue(page).devices.map(({ deviceId }) => deviceId);
    };
    expect(await idsWith('000400')).toEqual(['00040000', '00040001', '00040002']);
    expect(await idsWith('000400', '00040002')).toEqual(['00040003', '00040004', '00040005']);
    expect(await idsWith('1234')).toEqual(['00001234', '00011234', '00012340']);
    const beta = { limit: 1, label: { key: 'ring', value: 'beta' } };
    expect(await ledger.countDevices(tenant.app, beta)).toEqual({
      ...{ devices: near(0.2 * devices), isEstimate: true },
    });
  });

  test('keys are listed with who made them and when they were last used; the latest use stays', async () => {
    const { organizationId } = await createTenant(ledger);
    const made = await ledger.createKey(
      { organizationId, name: 'ci', prefix: `p-${organizationId}`, secretHash: 'secret-hash' },
      { kind: 'token', email: 'a@example.com' },
    );
    const { id } = expectValue(made);
    expect(await ledger.listKeys(organizationId)).toEqual([
      {
        id,
        name: 'ci',
        prefix: `p-${organizationId}`,
        createdAt: expect.any(String),
        createdBy: 'account:a@example.com',
        apps: null,
        may: [...KEY_RIGHTS],
        expiresAt: null,
        lastUsedAt: null,
        lastUsedFrom: null,
        revokedAt: null,
      },
    ]);
    await ledger.recordKeyUses([
      { id, at: iso(START + 1), from: '192.0.2.1' },
      { id: 'nobody', at: iso(START), from: '192.0.2.2' },
    ]);
    await ledger.recordKeyUses([{ id, at: iso(START), from: '192.0.2.3' }]);
    await ledger.recordKeyUses([]);
    const { revokedAt } = expectValue(await ledger.revokeKey(id, OPERATOR));
    expect(await ledger.listKeys(organizationId)).toMatchObject([
      { lastUsedAt: iso(START + 1), lastUsedFrom: '192.0.2.1', revokedAt },
    ]);
  });

  test('the audit is filtered, and read in pages that miss nothing and repeat nothing', async () => {
    for (let index = 0; index < 7; index++) await tenant.release(`1.0.${index}`);
    const seen: string[] = [];
    let before: string | undefined;
    for (;;) {
      const page = expectValue(await ledger.listAudit(tenant.organizationId, { limit: 2, before }));
      seen.push(...page.entries.map(({ id }) => id));
      if (page.next === null) break;
      before = page.next;
    }
    const all = expectValue(await ledger.listAudit(tenant.organizationId, { limit: 100 }));
    expect(seen).toEqual(all.entries.map(({ id }) => id));
    expect(all.next).toBeNull();
    const find = async (filter: object) => {
      const page = await ledger.listAudit(tenant.organizationId, { limit: 100, ...filter });
      return expectValue(page).entries.length;
    };
    expect(await find({ action: 'release' })).toBe(7);
    expect(await find({ action: 'release.publish', subject: 'STABLE@1.0.3' })).toBe(1);
    expect(await find({ action: 'rel' })).toBe(0);
    expect(await find({ actor: 'ADMIN' })).toBe(2);
    expect(await find({ subject: '%' })).toBe(0);
    expect(await find({ actor: 'nul\u0000' })).toBe(0);
    expect(await find({ before: 'nonsense' })).toBe(9);
  });

  test('old entries of the audit go, a few at a time', async () => {
    const tenant = await createTenant(ledger);
    const count = async () => (await tenant.audit()).length;
    await database.query(
      `UPDATE audit_entries SET at = at - interval '900 days' WHERE organization_id = $1`,
      [tenant.organizationId],
    );
    await tenant.release('1.0.0');
    const before = await count();
    expect(before).toBeGreaterThan(1);
    const old = new Date(Date.now() - 800 * 86_400_000).toISOString();
    expect(await ledger.forgetAudit(old, 0)).toBe(0);
    expect(await ledger.forgetAudit(old, 1_000_000)).toBe(before - 1);
    expect(await ledger.forgetAudit(old, 1_000_000)).toBe(0);
    expect(await count()).toBe(1);
  });
}
