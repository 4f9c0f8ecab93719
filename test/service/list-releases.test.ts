// Tests the release list over HTTP: its answer, the way of each parameter, and standings
// (docs/contract.md 4.2 and 12). How its query is read is tested in test/http/query.test.ts, pages and
// order in test/store/ledger/release-reads-contract.ts.

import { beforeAll, expect, it } from 'vitest';
import { serviceSuite, suiteTenant } from '../support/service-suite.ts';
import { createTenant, type Tenant } from '../support/tenant.ts';

const FIELDS = 'app artifacts channel createdAt id notes rolloutPct status version';
const NONE = { releases: [], page: 1, pageCount: 1, total: 0 };

type Listed = Readonly<Record<'id' | 'app' | 'channel' | 'status' | 'version', string>>;
type Standing = { readonly standing: { readonly state: string } };

serviceSuite('listing releases', (node) => {
  const tenant = suiteTenant(node);
  let second: Tenant;
  let newest: Record<string, unknown>;
  beforeAll(async () => {
    second = await tenant.anotherApp();
    expect(await pageOf(await createTenant(node))).toStrictEqual(NONE);
    // What a channel that follows it serves of a release is not its standing (§12.5).
    await tenant.setChannel({ follows: 'stable' }, 'beta');
    await tenant.publish('v1.0');
    await tenant.publish('1.1.0');
    await tenant.publish('1.1.0', { channel: 'beta', rollout: 0 });
    await second.publish('1.1.0');
    const targets = { matchLabels: { ring: ['a'] } };
    newest = await second.release('1.0.0', { notes: 'First', targets, status: 'paused' });
    await second.control('1.1.0', { rollout: 40 });
  });

  async function pageOf(of: Tenant, query = '') {
    const { status, headers, body } = await of.manage('GET', `releases?${query}`);
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json']);
    return body as { releases: Listed[]; page: number; pageCount: number; total: number };
  }

  /** Returns what is listed, as `2/beta 1.1.0`: of the second app. */
  async function namesOf(of: Tenant, query = ''): Promise<string[]> {
    const { releases } = await pageOf(of, query);
    return releases.map(
      ({ app, channel, version }) => `${app === second.app ? 2 : 1}/${channel} ${version}`,
    );
  }

  const ALL = [
    '2/stable 1.0.0',
    '2/stable 1.1.0',
    '1/beta 1.1.0',
    '1/stable 1.1.0',
    '1/stable v1.0',
  ];

  it("is releases with exactly the contract's fields, page, pageCount and total (§2.2, §4.2)", async () => {
    const { releases, ...page } = await pageOf(tenant);
    expect(page).toStrictEqual({ page: 1, pageCount: 1, total: 5 });
    expect(releases[0]).toStrictEqual(newest);
    expect(Object.keys(newest).sort().join(' ')).toBe(FIELDS);
    // As it is now, and where it was when it was published (§3).
    expect(releases[1]).toMatchObject({ version: '1.1.0', rolloutPct: 40 });
    const head = await tenant.manage('HEAD', 'releases');
    expect([head.status, head.text]).toEqual([200, '']);
  });

  it('app, as ref or id, channel, version in any spelling, status and pages all hold (§12.1)', async () => {
    const { app, appId } = tenant;
    const found: readonly (readonly [query: string, ...names: readonly string[]])[] = [
      ['', ...ALL],
      ['version=&status=&app=&channel=&sort=version&limit=1&Page=3', ...ALL],
      ['channel=beta', '1/beta 1.1.0'],
      [`app=${app}`, ...ALL.slice(2)],
      [`app=${appId}`, ...ALL.slice(2)],
      [`app=${second.app}&channel=stable`, ...ALL.slice(0, 2)],
      ['status=paused', '2/stable 1.0.0'],
      ['version=1.0.0', '2/stable 1.0.0', '1/stable v1.0'],
      ['version=1&status=published', '1/stable v1.0'],
      ...['app=unknown', 'channel=a%00b', 'status=gone', 'version=one'].map(
        (query) => [query] as const,
      ),
      ['per_page=2&page=0', ...ALL.slice(0, 2)],
      ['per_page=2&page=3', '1/stable v1.0'],
    ];
    for (const [query, ...names] of found) {
      expect([query, ...(await namesOf(tenant, query))]).toEqual([query, ...names]);
    }
    const beyond = { releases: [], page: 4, pageCount: 3, total: 5 };
    expect(await pageOf(tenant, 'per_page=2&page=4')).toEqual(beyond);
  });

  it('has the standing of each release by itself, of every app and channel (§12.5)', async () => {
    const { releases } = await pageOf(tenant, 'standing=true');
    const alone = await Promise.all(
      (await pageOf(tenant)).releases.map(async (each) => {
        const { body } = await tenant.manage('GET', `releases/${each.id}`);
        return { ...each, standing: body?.standing };
      }),
    );
    expect(releases).toStrictEqual(alone);
    expect(alone.map(({ standing }) => (standing as Standing['standing']).state)).toEqual([
      ...['paused', 'rolling out', 'for nobody yet', 'serving', 'superseded'],
    ]);
  });

  it('has no standings for a key that may not read (§4.2)', async () => {
    const key = await tenant.anotherKey({ may: ['publish'] });
    const query = `app=${tenant.app}&channel=stable&version=1`;
    expect(await pageOf(key, `${query}&standing=true`)).toStrictEqual(await pageOf(tenant, query));
  });
});
