// Tests keys that were narrowed to apps, rights or an end (docs/contract.md 25).

import { describe, expect, it } from 'vitest';
import { KEY_RIGHTS, type KeyRight } from '../../src/contract/resource.ts';
import { eventually } from '../support/eventually.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  ARTIFACT,
  admin,
  createTenant,
  manage,
  type Tenant,
} from '../support/tenant.ts';

type Json = Record<string, unknown>;

type Call = {
  readonly what: string;
  readonly needs: readonly KeyRight[];
  /** Makes the call about an app; on a key that has the right it succeeds. */
  readonly make: (key: Tenant, app: string, id: string) => Promise<Answer>;
  /** Makes, with a key that may do everything, what the call is about beside the release. */
  readonly prepare?: (owner: Tenant, app: string) => Promise<unknown>;
  /** Calls that name no app or release have nothing that could be unknown. */
  readonly namesNothing?: true;
};

const RIGHT_PHRASE: Readonly<Record<KeyRight, string>> = {
  read: 'read',
  publish: 'publish',
  control: 'change how releases are served',
  fleet: 'report or plan for devices',
};

serviceSuite('narrowed keys', (node) => {
  /** Makes a key of the tenant's organization. */
  async function narrowed(tenant: Tenant, limits: Json): Promise<Tenant> {
    const made = await admin(node, 'POST', 'keys', { org: tenant.org, name: 'narrow', ...limits });
    expect(made.status).toBe(201);
    return { ...tenant, secret: String(made.body?.secret), keyId: String(made.body?.id) };
  }

  /** Adds another app to the tenant's organization, with one release; returns its ref. */
  async function otherApp(tenant: Tenant): Promise<{ readonly app: string; readonly id: string }> {
    const app = `${tenant.app}-other`;
    await admin(node, 'POST', 'apps', { org: tenant.org, ref: app, name: 'Other' });
    return { app, id: await published(tenant, app) };
  }

  async function published(tenant: Tenant, app: string): Promise<string> {
    const body = { app, channel: 'stable', version: '1.0.0', artifacts: [ARTIFACT] };
    const { body: answer } = await manage(node, tenant, 'POST', 'releases', body);
    return String((answer?.release as Json | undefined)?.id);
  }

  async function listed(tenant: Tenant, keyId: string): Promise<Json | undefined> {
    const { body } = await admin(node, 'GET', `keys?org=${tenant.org}`);
    return (body?.keys as Json[] | undefined)?.find(({ id }) => id === keyId);
  }

  /** Reads what calls left in the audit log; a plan goes on meanwhile, and what it does is not theirs. */
  async function auditedCalls(tenant: Tenant): Promise<Json[] | undefined> {
    const { body } = await admin(node, 'GET', `audit?org=${tenant.org}`);
    return (body?.entries as Json[] | undefined)?.filter(
      ({ actor }) => !String(actor).startsWith('plan:'),
    );
  }

  const stable = { channel: 'stable' };
  const device = { deviceId: 'd1', version: '0.9.0', platform: 'linux', arch: 'x86_64' };
  const plan = (key: Tenant, app: string) =>
    manage(node, key, 'PUT', 'releases/plan', {
      ...{ app, ...stable, version: '1.0.0', steps: [{ rollout: 100, holdMinutes: 60 }] },
    });
  /** Plans for a release that not all devices get yet: such a plan stays running, and can be held. */
  const running = async (owner: Tenant, app: string) => {
    await manage(node, owner, 'PATCH', 'releases', {
      ...{ app, ...stable, version: '1.0.0', rollout: 10 },
    });
    return plan(owner, app);
  };
  const calls: readonly Call[] = [
    {
      what: 'publish',
      needs: ['publish'],
      make: (key, app) =>
        manage(node, key, 'POST', 'releases', { app, ...stable, version: '3.0.0', artifacts: [] }),
    },
    {
      what: 'dry run of a publish',
      needs: ['publish'],
      make: (key, app) =>
        manage(node, key, 'POST', 'releases?dryRun=true', { app, ...stable, version: '4.0.0' }),
    },
    {
      what: 'promote',
      needs: ['publish'],
      make: (key, app) =>
        manage(node, key, 'POST', 'releases/promote', {
          ...{ app, from: 'stable', to: 'beta', version: '1.0.0' },
        }),
    },
    {
      what: 'withdraw',
      needs: ['publish'],
      make: (key, app) =>
        manage(node, key, 'DELETE', 'releases', { app, ...stable, version: '1.0.0' }),
    },
    {
      what: 'serving control',
      needs: ['control'],
      make: (key, app) =>
        manage(node, key, 'PATCH', 'releases', {
          ...{ app, ...stable, version: '1.0.0', status: 'paused' },
        }),
    },
    {
      what: 'dry run of serving control',
      needs: ['control'],
      make: (key, app) =>
        manage(node, key, 'PATCH', 'releases?dryRun=true', {
          ...{ app, ...stable, version: '1.0.0', status: 'paused' },
        }),
    },
    { what: 'plan of a roll-out', needs: ['control'], make: plan },
    {
      what: 'steering of a plan',
      needs: ['control'],
      prepare: running,
      make: (key, app) =>
        manage(node, key, 'PATCH', 'releases/plan', {
          ...{ app, ...stable, version: '1.0.0', action: 'hold' },
        }),
    },
    {
      what: 'reading of a plan',
      needs: ['read'],
      prepare: running,
      make: (key, app) =>
        manage(node, key, 'GET', `releases/plan?app=${app}&channel=stable&version=1.0.0`),
    },
    {
      what: 'health of a release',
      needs: ['read'],
      make: (key, app) =>
        manage(node, key, 'GET', `releases/health?app=${app}&channel=stable&version=1.0.0`),
    },
    {
      what: 'report',
      needs: ['fleet'],
      make: (key, app) =>
        manage(node, key, 'POST', 'fleet/report', { app, devices: [{ ...device, ...stable }] }),
    },
    {
      what: 'decisions',
      needs: ['fleet'],
      make: (key, app) =>
        manage(node, key, 'POST', 'fleet/decisions', { app, ...stable, devices: [device] }),
    },
    {
      what: 'decisions as a dry run',
      needs: ['fleet'],
      make: (key, app) =>
        manage(node, key, 'POST', 'fleet/decisions', {
          ...{ app, ...stable, dryRun: true, devices: [device] },
        }),
    },
    {
      what: 'one release by name',
      needs: ['read', 'publish'],
      make: (key, app) =>
        manage(node, key, 'GET', `releases?app=${app}&channel=stable&version=1.0.0`),
      namesNothing: true,
    },
    {
      what: 'list of releases',
      needs: ['read'],
      make: (key, app) => manage(node, key, 'GET', `releases?app=${app}`),
      namesNothing: true,
    },
    {
      what: 'list of apps',
      needs: ['read'],
      make: (key) => manage(node, key, 'GET', 'apps'),
      namesNothing: true,
    },
    {
      what: 'one release by id',
      needs: ['read'],
      make: (key, _app, id) => manage(node, key, 'GET', `releases/${id}`),
    },
    {
      what: 'channels',
      needs: ['read'],
      make: (key, app) => manage(node, key, 'GET', `channels?app=${app}`),
    },
    {
      what: 'explanation',
      needs: ['read'],
      make: (key, app) =>
        manage(node, key, 'GET', `explain?app=${app}&channel=stable&platform=linux`),
    },
  ];

  describe.each(calls)('$what', ({ needs, prepare, make, namesNothing }) => {
    it(`is allowed with ${needs.join(' or ')} alone, and 403 with every other right, after 404 (§25.3)`, async () => {
      const tenant = await createTenant(node);
      const id = await published(tenant, tenant.app);
      await prepare?.(tenant, tenant.app);
      const others = KEY_RIGHTS.filter((right) => !needs.includes(right));
      const audit = () => auditedCalls(tenant);
      const without = await narrowed(tenant, { may: others });
      const before = await audit();
      expect(before?.length).toBeGreaterThan(0);
      const refused = await make(without, tenant.app, id);
      expect([refused.status, refused.body]).toEqual([
        403,
        { error: `This key may not ${RIGHT_PHRASE[needs[0] as KeyRight]}` },
      ]);
      const unknown = await make(without, 'nobody', 'rel_nobody');
      expect(unknown.status).toBe(namesNothing ? 403 : 404);
      expect(await audit()).toEqual(before);
      for (const right of needs) {
        const only = await narrowed(tenant, { may: [right] });
        expect((await make(only, tenant.app, id)).status).toBeLessThan(300);
      }
    });

    it('does not see apps that the key was not made for (§25.2)', async () => {
      const tenant = await createTenant(node);
      const { app, id } = await otherApp(tenant);
      await prepare?.(tenant, app);
      const key = await narrowed(tenant, { apps: [tenant.app] });
      const answer = await make(key, app, id);
      if (namesNothing) {
        expect(answer.status).toBe(200);
        expect(answer.text).not.toContain(app);
      } else expect(answer.status).toBe(404);
      const both = await narrowed(tenant, { apps: [tenant.appId, app] });
      expect((await make(both, app, id)).status).toBeLessThan(300);
    });
  });

  it('a list of some releases needs read: publishing suffices only for one by its name (§25.3)', async () => {
    const tenant = await createTenant(node);
    const key = await narrowed(tenant, { may: ['publish'] });
    for (const query of ['', '?app=a&channel=stable', '?app=a&version=1.0.0']) {
      expect((await manage(node, key, 'GET', `releases${query}`)).status).toBe(403);
    }
  });

  it('a malformed call is 400 for a key without the right too (§25.3)', async () => {
    const tenant = await createTenant(node);
    const key = await narrowed(tenant, { may: ['fleet'] });
    expect((await manage(node, key, 'POST', 'releases', { app: 1 })).status).toBe(400);
    expect((await manage(node, key, 'GET', 'channels')).status).toBe(400);
  });

  it('a dry run names devices only to a key that may read (§24.1)', async () => {
    const tenant = await createTenant(node);
    const report = { app: tenant.app, devices: [{ ...device, ...stable }] };
    await manage(node, tenant, 'POST', 'fleet/report', report);
    const release = { app: tenant.app, ...stable, version: '2.0.0', artifacts: [ARTIFACT] };
    const exampleOf = async (key: Tenant) => {
      const { body } = await manage(node, key, 'POST', 'releases?dryRun=true', release);
      const { gain, examples } = (body?.effect ?? {}) as Json;
      return [gain, examples];
    };
    const blind = await narrowed(tenant, { may: ['publish'] });
    const seeing = await narrowed(tenant, { may: ['publish', 'read'] });
    expect(await exampleOf(seeing)).toEqual([1, { gain: ['d1'], lose: [] }]);
    expect(await exampleOf(blind)).toEqual([1, { gain: [], lose: [] }]);
  });

  it('from its end on a key is 401; until then it works (§25.4)', async () => {
    const tenant = await createTenant(node);
    const key = await narrowed(tenant, { expiresAt: new Date(Date.now() + 1500).toISOString() });
    expect((await manage(node, key, 'GET', 'apps')).status).toBe(200);
    await eventually('the key is over', async () => {
      const { status, body } = await manage(node, key, 'GET', 'apps');
      return status === 401 && body?.error === 'Invalid or revoked API key';
    });
  });

  it.each([
    [{ expiresAt: '2020-01-01T00:00:00Z' }, 400, 'expiresAt: must lie in the future'],
    [{ expiresAt: 'tomorrow' }, 400, 'expiresAt: Must be an RFC 3339 time'],
    [{ apps: ['nobody'] }, 404, 'Unknown app nobody'],
    [{ apps: [] }, 400, expect.stringContaining('apps')],
    [{ apps: 'a' }, 400, expect.stringContaining('apps')],
    [{ may: [] }, 400, expect.stringContaining('may')],
    [{ may: ['everything'] }, 400, expect.stringContaining('may.0')],
    [{ may: null }, 400, expect.stringContaining('may')],
    [{ apps: Array(51).fill('a') }, 400, expect.stringContaining('apps')],
  ])('a key with %j is refused when it is made (§25.4)', async (limits, status, error) => {
    const tenant = await createTenant(node);
    const answer = await admin(node, 'POST', 'keys', { org: tenant.org, name: 'x', ...limits });
    expect([answer.status, answer.body?.error]).toEqual([status, error]);
  });

  it("an app of another organization is unknown to a key's maker (§25.4)", async () => {
    const [tenant, stranger] = [await createTenant(node), await createTenant(node)];
    const limits = { org: tenant.org, name: 'x', apps: [stranger.app] };
    expect((await admin(node, 'POST', 'keys', limits)).status).toBe(404);
  });

  it('what a key is narrowed to, and when and from where it was used, is listed and audited (§25.5)', async () => {
    const tenant = await createTenant(node);
    const expiresAt = '2099-01-01T00:00:00.000Z';
    const limits = { apps: [tenant.appId], may: ['read', 'control'], expiresAt };
    const key = await narrowed(tenant, limits);
    expect(await listed(tenant, key.keyId)).toMatchObject({
      ...{ ...limits, apps: [tenant.app], lastUsedAt: null, lastUsedFrom: null },
    });
    expect(await listed(tenant, tenant.keyId)).toMatchObject({
      ...{ apps: null, may: [...KEY_RIGHTS], expiresAt: null },
    });
    await manage(node, key, 'GET', 'apps');
    await eventually('its use is recorded', async () => {
      const { lastUsedAt, lastUsedFrom } = (await listed(tenant, key.keyId)) ?? {};
      return lastUsedAt !== null && /^(127|10)\./.test(String(lastUsedFrom));
    });
    const { body } = await admin(node, 'GET', `audit?org=${tenant.org}&action=key.create`);
    const [entry] = (body?.entries ?? []) as Json[];
    expect(entry?.after).toMatchObject(limits);
  });
});
