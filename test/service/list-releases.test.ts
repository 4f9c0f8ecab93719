// Tests the release list over HTTP: its pages, its filters, and whose releases it shows (docs/contract.md 4.2
// and 12). How its query is read is tested in test/http/list-query.test.ts, its order among releases of one
// moment in test/store/ledger/release-reads-contract.ts.

import { beforeAll, describe, expect, it } from 'vitest';
import { serviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  ARTIFACT,
  admin,
  control,
  createTenant,
  manage,
  publish,
  type Tenant,
} from '../support/tenant.ts';

const FIELDS = 'app artifacts channel createdAt id notes rolloutPct status version';
const NONE = { releases: [], page: 1, pageCount: 1, total: 0 };

type Listed = { readonly id: string; readonly createdAt: string; readonly version: string };
type Page = { readonly releases: Listed[]; readonly pageCount: number; readonly total: number };

serviceSuite('listing releases', (node) => {
  function list(tenant: Pick<Tenant, 'secret'>, query = ''): Promise<Answer> {
    return manage(node, tenant, 'GET', `releases${query === '' ? '' : `?${query}`}`);
  }

  async function pageOf(tenant: Pick<Tenant, 'secret'>, query = ''): Promise<Page> {
    const answer = await list(tenant, query);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json']);
    return answer.body as Page;
  }

  async function versionsOf(tenant: Pick<Tenant, 'secret'>, query: string): Promise<string[]> {
    return (await pageOf(tenant, query)).releases.map(({ version }) => version).sort();
  }

  /** Another app of the same organization, as a tenant to publish to. */
  async function anotherApp(tenant: Tenant): Promise<Tenant> {
    const ref = `${tenant.app}-two`;
    const { body } = await admin(node, 'POST', 'apps', { org: tenant.org, ref, name: 'Two' });
    return { ...tenant, app: ref, appId: String(body?.id) };
  }

  describe('the answer', () => {
    it("is releases with exactly the contract's fields, page, pageCount and total (§2.2, §4.2)", async () => {
      const tenant = await createTenant(node);
      expect((await list(tenant)).body).toStrictEqual(NONE);
      const targets = { matchLabels: { ring: ['a'] } };
      const { body } = await publish(node, tenant, '1.0.0', { notes: 'First', targets });
      const release = body?.release as Listed;
      const all = { releases: [release], page: 1, pageCount: 1, total: 1 };
      expect((await list(tenant)).body).toStrictEqual(all);
      expect(Object.keys(release).sort().join(' ')).toBe(FIELDS);
      const head = await manage(node, tenant, 'HEAD', 'releases');
      expect([head.status, head.text]).toEqual([200, '']);
    });

    it('has releases of every status, as they are now, in the order that they were published (§3)', async () => {
      const tenant = await createTenant(node);
      const statuses = ['published', 'paused', 'deprecated', 'rolled_back'];
      for (const index of statuses.keys()) await publish(node, tenant, `1.0.${index}`);
      const before = await pageOf(tenant);
      for (const [index, status] of statuses.entries()) {
        await control(node, tenant, `1.0.${index}`, { status, rollout: 10 + index });
      }
      const after = (await pageOf(tenant)).releases as unknown as Record<string, unknown>[];
      expect(after.map(({ id }) => id)).toEqual(before.releases.map(({ id }) => id));
      expect(after.map(({ status, rolloutPct }) => [status, rolloutPct]).reverse()).toEqual(
        statuses.map((status, index) => [status, 10 + index]),
      );
    });
  });

  describe('the standings', () => {
    it('are those of each release by itself, of every app and channel, in the order of the list (§12.5)', async () => {
      const tenant = await createTenant(node);
      const second = await anotherApp(tenant);
      await publish(node, tenant, '1.0.0');
      await publish(node, tenant, '1.1.0');
      await publish(node, tenant, '1.1.0', { channel: 'beta', rollout: 0 });
      await publish(node, second, '1.1.0', { rollout: 40 });
      await publish(node, second, '1.0.0');
      await control(node, second, '1.0.0', { status: 'paused', reason: 'crashes' });
      const plain = await pageOf(tenant);
      const { releases, ...page } = await pageOf(tenant, 'standing=true');
      expect(page).toEqual({ page: 1, pageCount: 1, total: 5 });
      const alone = await Promise.all(
        plain.releases.map(async (release) => {
          const { body } = await manage(node, tenant, 'GET', `releases/${release.id}`);
          return { ...release, standing: body?.standing };
        }),
      );
      expect(releases).toStrictEqual(alone);
      expect(alone.map(({ standing }) => (standing as { state: string }).state)).toEqual([
        ...['paused', 'rolling out', 'for nobody yet', 'serving', 'superseded'],
      ]);
    });

    it('are those on the channel of the release, whatever a channel that follows it serves (§12.5)', async () => {
      const tenant = await createTenant(node);
      await admin(node, 'PATCH', 'channels', { app: tenant.app, name: 'beta', follows: 'stable' });
      await publish(node, tenant, '3.0.0-beta.1', { channel: 'beta' });
      await publish(node, tenant, '2.0.1');
      const { releases } = await pageOf(tenant, 'standing=true');
      const standings = releases as unknown as { version: string; standing: { state: string } }[];
      expect(standings.map(({ version, standing }) => [version, standing.state])).toEqual([
        ['2.0.1', 'serving'],
        ['3.0.0-beta.1', 'serving'],
      ]);
    });

    it('are not there for a key that may not read (§4.2)', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0');
      const limits = { org: tenant.org, name: 'ci', may: ['publish'] };
      const { body } = await admin(node, 'POST', 'keys', limits);
      const query = `app=${tenant.app}&channel=stable&version=1.0.0`;
      const secret = String(body?.secret);
      expect(await pageOf({ secret }, `${query}&standing=true`)).toStrictEqual(
        await pageOf(tenant, query),
      );
    });
  });

  describe('the filters', () => {
    let tenant: Tenant;
    let second: Tenant;
    let stranger: Tenant;
    // The tests below only read these tenants, so they share them.
    beforeAll(async () => {
      tenant = await createTenant(node);
      second = await anotherApp(tenant);
      stranger = await createTenant(node);
      await publish(node, tenant, 'v1.0');
      await publish(node, tenant, '1.1.0', { channel: 'beta' });
      await publish(node, second, '2.0.0', { status: 'paused' });
      await publish(node, second, '2.1.0', { channel: 'beta' });
      await publish(node, stranger, '9.0.0');
    });

    it('app, as ref or id, channel, version in any spelling, and status all hold (§12.1)', async () => {
      const { app, appId } = tenant;
      const all = '1.1.0 2.0.0 2.1.0 v1.0';
      const found = {
        ...{ '': all, 'version=&status=&app=&channel=': all, 'channel=beta': '1.1.0 2.1.0' },
        ...{ [`app=${app}`]: '1.1.0 v1.0', [`app=${appId}`]: '1.1.0 v1.0' },
        ...{ [`app=${second.app}&channel=stable`]: '2.0.0', 'status=paused': '2.0.0' },
        ...{ 'version=1.0.0': 'v1.0', 'version=1&status=published': 'v1.0' },
        'version=1&status=paused': '',
      };
      for (const [query, versions] of Object.entries(found)) {
        expect([query, (await versionsOf(tenant, query)).join(' ')]).toEqual([query, versions]);
      }
      const { total, pageCount } = await pageOf(tenant, 'channel=beta&per_page=1');
      expect([total, pageCount]).toEqual([2, 2]);
    });

    it('what does not exist gives an empty list, not an error', async () => {
      for (const query of [
        ...[
          'app=unknown',
          'channel=unknown',
          'status=gone',
          'version=one',
          'app=%00',
          'channel=a%00b',
        ],
        ...[
          'app=%ff',
          'app=%ED%A0%80',
          'app=%',
          'channel=%zz',
          "app=x'%20OR%20'1'='1",
          'channel=%25',
        ],
        `app=${'a'.repeat(10_000)}`,
      ]) {
        expect((await list(tenant, query)).body, query).toStrictEqual(NONE);
      }
    });

    it("only the key's organization is ever visible, whatever is asked for (§12.4)", async () => {
      expect(await versionsOf(stranger, '')).toEqual(['9.0.0']);
      for (const app of [tenant.app, tenant.appId]) {
        expect((await list(stranger, `app=${app}`)).body).toStrictEqual(NONE);
      }
    });
  });

  it('pages give every release once, in order, with every artifact; beyond the last they are empty', async () => {
    const tenant = await createTenant(node);
    const count = 21;
    const artifacts = [ARTIFACT, { platform: 'windows' }];
    for (let index = 0; index < count; index++) {
      await publish(node, tenant, `1.0.${index}`, { artifacts });
    }
    const sizes = {
      'per_page=7': 7,
      '': 20,
      'per_page=100': 21,
      'per_page=0': 1,
      'per_page=x': 20,
    };
    for (const [query, size] of Object.entries(sizes)) {
      const { releases, pageCount, total } = await pageOf(tenant, query);
      const pages = Math.ceil(count / size);
      expect([query, releases.length, pageCount, total]).toEqual([query, size, pages, count]);
    }
    for (const size of [7, 20]) {
      const seen: Listed[] = [];
      for (let page = 1; page <= Math.ceil(count / size); page++) {
        seen.push(...(await pageOf(tenant, `page=${page}&per_page=${size}`)).releases);
      }
      expect(new Set(seen.map(({ version }) => version)).size).toBe(count);
      expect(seen).toHaveLength(count);
      expect(seen.map(orderOf)).toEqual(seen.map(orderOf).sort().reverse());
      for (const release of seen) expect(release).toMatchObject({ artifacts });
    }
    const first = (await list(tenant)).body;
    for (const query of ['page=0', 'page=x', 'page=-9', 'sort=version&limit=1&Page=3']) {
      expect((await list(tenant, query)).body, query).toEqual(first);
    }
    const beyond = { releases: [], page: 3, pageCount: 2, total: count };
    expect((await list(tenant, 'page=3')).body).toEqual(beyond);
    const far = (await list(tenant, 'page=99999999999999999999&per_page=100')).body;
    expect(far).toMatchObject({ releases: [], pageCount: 1, total: count });
  });
});

/** Returns a text that sorts as the list does: RFC 3339 times in UTC and ids both sort as text. */
function orderOf({ createdAt, id }: Listed): string {
  return `${createdAt} ${id}`;
}
