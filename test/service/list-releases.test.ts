// Tests the release list over HTTP: its order, its pages, its filters, and whose releases it shows
// (docs/contract.md 4.2 and 12). No query is wrong: a value without a meaning counts as the default.

import { beforeAll, describe, expect, it } from 'vitest';
import { serviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  ARTIFACT,
  admin,
  anotherKey,
  control,
  createTenant,
  manage,
  publish,
  type Tenant,
} from '../support/tenant.ts';

const RELEASE_FIELDS = [
  'id',
  'app',
  'channel',
  'version',
  'notes',
  'status',
  'rolloutPct',
  'createdAt',
  'artifacts',
];

type Listed = { readonly id: string; readonly createdAt: string; readonly version: string };
type Page = {
  readonly releases: Listed[];
  readonly page: number;
  readonly pageCount: number;
  readonly total: number;
};

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
    it('is releases, page, pageCount and total, nothing more (§4.2)', async () => {
      const tenant = await createTenant(node);
      const published = await publish(node, tenant, '1.0.0', { notes: 'First' });
      expect((await list(tenant)).body).toStrictEqual({
        releases: [published.body?.release],
        page: 1,
        pageCount: 1,
        total: 1,
      });
    });

    it("each release has exactly the contract's fields, never its targets (§2.2)", async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0', { targets: { matchLabels: { ring: ['a'] } } });
      const [release] = (await pageOf(tenant)).releases;
      expect(Object.keys(release ?? {}).sort()).toEqual([...RELEASE_FIELDS].sort());
    });

    it('of an organization without releases is an empty list of one page', async () => {
      const tenant = await createTenant(node);
      expect((await list(tenant)).body).toStrictEqual({
        releases: [],
        page: 1,
        pageCount: 1,
        total: 0,
      });
    });

    it('has releases of every status, as they are now (§3)', async () => {
      const tenant = await createTenant(node);
      const statuses = ['published', 'paused', 'deprecated', 'rolled_back'];
      for (const [index, status] of statuses.entries()) {
        await publish(node, tenant, `1.0.${index}`);
        await control(node, tenant, `1.0.${index}`, { status, rollout: 10 + index });
      }
      const shown = (await pageOf(tenant)).releases as unknown as Record<string, unknown>[];
      expect(shown.map(({ status, rolloutPct }) => [status, rolloutPct]).reverse()).toEqual(
        statuses.map((status, index) => [status, 10 + index]),
      );
    });

    it('is the same for HEAD, without its body', async () => {
      const tenant = await createTenant(node);
      const { status, text } = await manage(node, tenant, 'HEAD', 'releases');
      expect([status, text]).toEqual([200, '']);
    });
  });

  describe('the order', () => {
    it('is newest first by createdAt, whatever the versions', async () => {
      const tenant = await createTenant(node);
      const versions = ['1.10.0', '1.2.0', '3.0.0', '2.0.0-rc.1', '0.1'];
      for (const version of versions) {
        await publish(node, tenant, version);
        // Releases of one millisecond are ordered by id, which the next test is about.
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      const { releases } = await pageOf(tenant);
      expect(releases.map(({ version }) => version)).toEqual([...versions].reverse());
    });

    it('is by id among releases of one moment', async () => {
      const tenant = await createTenant(node);
      const second = await anotherApp(tenant);
      // Each channel has a lock of its own, so these are made side by side.
      await Promise.all(
        Array.from({ length: 24 }, (_, index) =>
          publish(node, index % 2 === 0 ? tenant : second, `1.0.${index}`, {
            channel: index % 4 < 2 ? 'stable' : 'beta',
          }),
        ),
      );
      const { releases } = await pageOf(tenant, 'per_page=100');
      expect(releases).toHaveLength(24);
      expect(releases.map(orderOf)).toEqual(releases.map(orderOf).sort().reverse());
    });

    it('is not changed by serving control', async () => {
      const tenant = await createTenant(node);
      for (const version of ['1.0.0', '1.0.1', '1.0.2']) await publish(node, tenant, version);
      const before = await pageOf(tenant);
      await control(node, tenant, '1.0.0', { status: 'paused' });
      const after = await pageOf(tenant);
      expect(after.releases.map(({ id }) => id)).toEqual(before.releases.map(({ id }) => id));
    });
  });

  describe('the filters', () => {
    let tenant: Tenant;
    let second: Tenant;
    let stranger: Tenant;
    // The tests below only read this tenant, so they share it.
    beforeAll(async () => {
      tenant = await createTenant(node);
      second = await anotherApp(tenant);
      stranger = await createTenant(node);
      await publish(node, tenant, '1.0.0');
      await publish(node, tenant, '1.1.0', { channel: 'beta' });
      await publish(node, second, '2.0.0');
      await publish(node, second, '2.1.0', { channel: 'beta' });
      await publish(node, stranger, '9.0.0');
    });

    it('none: every release of the organization', async () => {
      expect(await versionsOf(tenant, '')).toEqual(['1.0.0', '1.1.0', '2.0.0', '2.1.0']);
    });

    it('app is a ref or an id', async () => {
      for (const app of [tenant.app, tenant.appId]) {
        expect(await versionsOf(tenant, `app=${app}`)).toEqual(['1.0.0', '1.1.0']);
      }
    });

    it('channel filters over all apps', async () => {
      expect(await versionsOf(tenant, 'channel=beta')).toEqual(['1.1.0', '2.1.0']);
    });

    it('app and channel both hold', async () => {
      expect(await versionsOf(tenant, `app=${second.app}&channel=stable`)).toEqual(['2.0.0']);
    });

    it('total and pageCount count what the filter lets through', async () => {
      const { total, pageCount } = await pageOf(tenant, 'channel=beta&per_page=1');
      expect([total, pageCount]).toEqual([2, 2]);
    });

    it.each(
      named([
        'app=unknown',
        'channel=unknown',
        'app=%00',
        'channel=a%00b',
        'app=%ff',
        'app=%ED%A0%80',
        'app=%',
        'channel=%zz',
        `app=${'a'.repeat(10_000)}`,
        "app=x'%20OR%20'1'='1",
        'channel=%25',
      ]),
    )('an unknown app or channel gives an empty list, not an error: %s', async (_, query) => {
      expect((await list(tenant, query)).body).toStrictEqual({
        releases: [],
        page: 1,
        pageCount: 1,
        total: 0,
      });
    });

    it("only the key's organization is ever visible, whatever is asked for (§12.4)", async () => {
      expect(await versionsOf(stranger, '')).toEqual(['9.0.0']);
      for (const app of [tenant.app, tenant.appId]) {
        const { releases, total } = await pageOf(stranger, `app=${app}`);
        expect([releases, total]).toEqual([[], 0]);
      }
    });
  });

  describe('the pages', () => {
    const count = 103;
    let tenant: Tenant;
    // The tests below only read this tenant. They use another key than the publishing here, because each key
    // has a rate limit.
    beforeAll(async () => {
      tenant = await createTenant(node);
      const body = { app: tenant.app, artifacts: [ARTIFACT, { platform: 'windows' }] };
      for (let index = 0; index < count; index++) {
        await publish(node, tenant, `1.0.${index}`, body);
      }
      tenant = await anotherKey(node, tenant);
    });

    it.each([
      ['', 20],
      ['per_page=', 20],
      ['per_page=some', 20],
      ['per_page=NaN', 20],
      ['per_page=1', 1],
      ['per_page=7', 7],
      ['per_page=99', 99],
      ['per_page=100', 100],
      ['per_page=101', 100],
      ['per_page=100000000000000000000', 100],
      ['per_page=0', 1],
      ['per_page=-5', 1],
    ])('per_page is 20 by default and clamped to 1..100: %j shows %i', async (query, size) => {
      const { releases, page, pageCount, total } = await pageOf(tenant, query);
      expect(releases).toHaveLength(size);
      expect([page, pageCount, total]).toEqual([1, Math.ceil(count / size), count]);
    });

    it.each([
      '',
      'page=',
      'page=1',
      'page=0',
      'page=-1',
      'page=-99999999999',
      'page=x',
      'page=NaN',
    ])('a page below 1 or not a number is 1: %j', async (query) => {
      const { releases, page } = await pageOf(tenant, query);
      expect(page).toBe(1);
      expect(releases[0]?.version).toBe(`1.0.${count - 1}`);
    });

    it('a page beyond the last is an empty list', async () => {
      const { releases, page, pageCount, total } = await pageOf(tenant, 'page=7');
      expect({ releases, page, pageCount, total }).toEqual({
        releases: [],
        page: 7,
        pageCount: 6,
        total: count,
      });
    });

    it.each(['99999999999999999999', '1e400', '9007199254740993', '2147483648'])(
      'so is one far beyond it: page=%s',
      async (page) => {
        const { releases, pageCount } = await pageOf(tenant, `page=${page}&per_page=100`);
        expect([releases, pageCount]).toEqual([[], 2]);
      },
    );

    it.each([1, 7, 20, 100])('paging by %i gives every release once, in order', async (size) => {
      const reader = await anotherKey(node, tenant);
      const seen: Listed[] = [];
      const { pageCount } = await pageOf(reader, `per_page=${size}`);
      for (let page = 1; page <= pageCount; page++) {
        seen.push(...(await pageOf(reader, `page=${page}&per_page=${size}`)).releases);
      }
      expect(new Set(seen.map(({ version }) => version)).size).toBe(count);
      expect(seen).toHaveLength(count);
      expect(seen.map(orderOf)).toEqual(seen.map(orderOf).sort().reverse());
    });

    it('a page shows every artifact of its releases, in publish order', async () => {
      const { releases } = await pageOf(tenant, 'page=3&per_page=5');
      for (const release of releases) {
        expect(release).toMatchObject({ artifacts: [ARTIFACT, { platform: 'windows' }] });
      }
    });

    it('a parameter nobody knows changes nothing', async () => {
      const { total } = await pageOf(tenant, 'sort=version&limit=1&Page=3');
      expect(total).toBe(count);
    });
  });
});

/** Returns a text that sorts as the list does: RFC 3339 times in UTC and ids both sort as text. */
function orderOf({ createdAt, id }: Listed): string {
  return `${createdAt} ${id}`;
}

/** Rows for a table of texts: a short name for the title, and the text. */
function named(texts: readonly string[]): [string, string][] {
  return texts.map((text) => {
    const isLong = text.length > 80;
    return [isLong ? `${text.slice(0, 20)}... (${text.length})` : JSON.stringify(text), text];
  });
}
