// Tests the reads by which the console finds things: the search, the webhooks of an organization, filters of
// the audit, of devices and of releases, and the decision about a device that nobody has seen.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { enableWebhook } from '../support/github.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { admin, createTenant, randomId, type Tenant } from '../support/tenant.ts';

type Rows = readonly Record<string, unknown>[];

serviceSuite('finding things', (node) => {
  let owner: Tenant;
  let other: Tenant;
  let tenant: Tenant;
  /** Reads as the operator. */
  const read = (path: string) => admin(node, 'GET', path);
  beforeAll(async () => {
    [owner, other] = [await createTenant(node), await createTenant(node)];
  });
  // An app of its own for each test.
  beforeEach(async () => {
    const app = `app-${randomId()}`;
    await admin(node, 'POST', 'apps', { org: owner.org, ref: app, name: `Name of ${app}` });
    tenant = owner.with({ app });
  });

  const search = async (text: string) => {
    const query = new URLSearchParams({ org: tenant.org, text });
    const { status, body } = await read(`search?${query}`);
    expect(status).toBe(200);
    return body as { apps: Rows; releases: Rows; devices: Rows };
  };
  const device = (deviceId: string, version = '1.0.0', more: object = {}) => ({
    ...{ deviceId, version, platform: 'linux', arch: 'x86_64', channel: 'stable', ...more },
  });

  describe('search', () => {
    it('finds apps by a part of their name, releases and devices by how they begin', async () => {
      const id = randomId();
      await tenant.publish('4.5.6');
      await tenant.publish('4.5.6', { channel: 'beta' });
      await tenant.report([device(`Pad-${id}-b`), device(`Pad-${id}-a`)]);
      const apps = [{ ref: tenant.app, name: `Name of ${tenant.app}` }];
      expect((await search(`AME OF ${tenant.app}`)).apps).toEqual(apps);
      expect((await search(tenant.app.slice(2))).apps).toEqual(apps);
      const { releases } = await search('v4.5');
      expect(releases.map(({ channel, version }) => `${channel} ${version}`).toSorted()).toEqual([
        ...['beta 4.5.6', 'stable 4.5.6'],
      ]);
      expect((await search(`Pad-${id}`)).devices.map(({ deviceId }) => deviceId)).toEqual([
        ...[`Pad-${id}-a`, `Pad-${id}-b`],
      ]);
      expect((await search(`ad-${id}`)).devices).toEqual([]);
    });

    it('the very version comes before longer ones, and no kind has more than ten', async () => {
      const versions = Array.from({ length: 11 }, (_, index) => `3.1.${index + 1}`);
      await Promise.all(versions.map((version) => tenant.publish(version)));
      const { releases } = await search('3.1.1');
      expect(releases[0]).toMatchObject({ version: '3.1.1' });
      expect((await search('3.')).releases).toHaveLength(10);
    });

    it('finds nothing of another organization, and takes no sign as a pattern', async () => {
      const id = `foreign-${randomId()}`;
      await other.publish('8.8.8');
      await other.report([device(id)]);
      const nothing = { apps: [], releases: [], devices: [] };
      for (const text of [id, '8.8', other.app, '%', '_', '\\', "'", '\u{10ffff}']) {
        expect(await search(text)).toEqual(nothing);
      }
    });

    it('a text that is none is 400 and names the field', async () => {
      for (const query of ['', `text=${'a'.repeat(129)}`, 'text=', 'text=%00']) {
        const { status, body } = await read(`search?org=${tenant.org}&${query}`);
        expect([status, String(body?.error)]).toEqual([400, expect.stringMatching(/^text: /)]);
      }
    });
  });

  it('the webhooks of an organization are those of its apps that have one which is on', async () => {
    await enableWebhook(node, tenant);
    await enableWebhook(node, other);
    const { body } = await read(`webhooks/enabled?org=${tenant.org}`);
    const { apps } = body as { apps: Rows };
    const [ref, name] = [tenant.app, `Name of ${tenant.app}`];
    expect(apps).toEqual([expect.objectContaining({ ref, name, enabled: true, deliveries: [] })]);
    const single = await read(`webhooks?app=${tenant.app}`);
    expect(apps[0]).toMatchObject(single.body ?? {});
    await admin(node, 'POST', 'webhooks/disable', { app: tenant.app });
    const after = await read(`webhooks/enabled?org=${tenant.org}`);
    expect(after.body).toEqual({ apps: [] });
  });

  it('the audit tells what was done to a release, and when', async () => {
    await tenant.publish('1.0.0', { rollout: 5 });
    for (const change of [
      ...[{ rollout: 50 }, { rollout: 20 }, { status: 'paused', rollout: 30 }, { targets: {} }],
      { targets: { matchLabels: { ring: ['a'] } } },
    ]) {
      await tenant.control('1.0.0', change);
    }
    const audit = async (query: string) => {
      const { status, body } = await read(`audit?org=${tenant.org}&subject=${tenant.app}&${query}`);
      return { status, entries: (body as { entries: Rows }).entries };
    };
    const rollouts = async (did: string) =>
      (await audit(`did=${did}`)).entries.map(
        ({ after }) => (after as { rolloutPct: number }).rolloutPct,
      );
    const did = ['raised', 'lowered', 'paused', 'published', 'retargeted'];
    expect(await Promise.all(did.map(rollouts))).toEqual([[30, 50], [20], [30], [], [30]]);
    const [newest] = (await audit('limit=1')).entries;
    const at = encodeURIComponent(String(newest?.at));
    expect((await audit(`since=${at}`)).entries.map(({ id }) => id)).toEqual([newest?.id]);
    const { entries } = await audit(`until=${at}`);
    expect(entries.some(({ id }) => id === newest?.id)).toBe(false);
    expect((await audit('did=exploded')).status).toBe(400);
    expect((await audit('since=yesterday')).status).toBe(400);
  });

  it('devices are found by what they were offered last, whether they moved, and below a version', async () => {
    await tenant.publish('1.10.0');
    await tenant.report([device('a', '1.9.0'), device('b', '1.2.0'), device('c', '1.10.0')]);
    const ids = async (query: string) => {
      const { body } = await read(`devices?app=${tenant.app}&${query}`);
      return (body as { devices: Rows }).devices.map(({ deviceId }) => deviceId);
    };
    expect(await ids('below=1.10.0')).toEqual(['a', 'b']);
    expect(await ids('below=1.9.0')).toEqual(['b']);
    expect(await ids('offered=1.10.0')).toEqual([]);
    const bad = await read(`devices?app=${tenant.app}&below=newest`);
    expect([bad.status, bad.body?.error]).toEqual([400, 'below: Must be a version']);
    expect((await read(`devices?app=${tenant.app}&moved=maybe`)).status).toBe(400);
  });

  it('a device that nobody has seen is decided for as the reader describes it', async () => {
    await tenant.publish('2.0.0');
    const told = (query: string) =>
      read(`decision/told?app=${tenant.app}&deviceId=nobody&${query}`);
    const { body } = await told('channel=stable&platform=linux&arch=x86_64&version=1.0.0');
    expect(body).toMatchObject({
      decision: { update: { version: '2.0.0' }, reason: 'offered' },
      device: { deviceId: 'nobody' },
    });
    expect((await told('channel=stable')).status).toBe(404);
    expect((await told('platform=linux&channel=nowhere')).status).toBe(404);
    const { body: recorded } = await read(`devices?app=${tenant.app}`);
    expect((recorded as { devices: Rows }).devices).toEqual([]);
  });

  it('a targeting is counted for the devices of the channel that meet all of it', async () => {
    const ringed = (id: string, ring: string, more: object = {}) =>
      device(id, '1.0.0', { labels: { ring }, ...more });
    await tenant.report([
      ...[ringed('a', 'early'), ringed('b', 'early', { version: '2.0.0' }), ringed('c', 'late')],
      ...[ringed('d', 'early', { channel: 'beta' }), device('e')],
    ]);
    const count = (targets: unknown, channel = 'stable') =>
      admin(node, 'POST', 'releases/matching', { app: tenant.app, channel, targets });
    expect((await count({ matchLabels: { ring: ['early'] } })).body).toEqual({
      ...{ devices: 4, matching: 2, isEstimate: false },
      examples: expect.toSatisfy((ids: string[]) => ids.toSorted().join() === 'a,b'),
    });
    const below = [{ key: '$version', operator: 'VersionLt', values: ['1.5.0'] }];
    expect(
      (await count({ matchLabels: { ring: ['early'] }, matchExpressions: below })).body,
    ).toMatchObject({ matching: 1, examples: ['a'] });
    expect((await count(null)).body).toMatchObject({ devices: 4, matching: 4 });
    expect((await count({ matchLabels: { ring: [] } })).status).toBe(400);
    expect((await count(null, 'nowhere')).status).toBe(404);
  });
});
