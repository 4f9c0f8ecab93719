// Tests keys that were narrowed to apps, rights or an end (docs/contract.md 25).

import { describe, expect, it } from 'vitest';
import { KEY_RIGHTS, type KeyRight } from '../../src/contract/resource.ts';
import { KEY_OPERATIONS } from '../../src/http/api/key-routes.ts';
import { eventually } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import { auditOf, type Json, releaseOf } from '../support/published.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  ARTIFACT,
  admin,
  createTenant,
  manage,
  publish,
  report,
  type Tenant,
} from '../support/tenant.ts';

type Call = {
  readonly what: string;
  readonly needs: readonly KeyRight[];
  /** Makes the call about an app; on a key that has the right it succeeds. */
  readonly make: (key: Tenant, app: string, id: string, made: Json) => Promise<Answer>;
  /** Makes, with a key that may do everything, what the call is about beside the release. */
  readonly prepare?: (owner: Tenant, app: string) => Promise<Answer>;
  /** Calls that name no app or release have nothing that could be unknown. */
  readonly namesNothing?: true;
};

const RIGHT_PHRASE: Readonly<Record<KeyRight, string>> = {
  read: 'read',
  publish: 'publish',
  control: 'change how releases are served',
  fleet: 'report or plan for devices',
};
const STABLE = { channel: 'stable' };
const NAME = { ...STABLE, version: '1.0.0' };
/** Id of a release that nobody has. */
const NOBODY = 'rel_nobody';
const NAME_QUERY = '&channel=stable&version=1.0.0';
const DEVICE = { deviceId: 'd1', version: '0.9.0', platform: 'linux', arch: 'x86_64' };

serviceSuite('narrowed keys', (node) => {
  /** Makes a key of the tenant's organization. */
  async function narrowed(tenant: Tenant, limits: Json): Promise<Tenant> {
    const made = await admin(node, 'POST', 'keys', { org: tenant.org, name: 'narrow', ...limits });
    expect(made.status).toBe(201);
    return { ...tenant, secret: String(made.body?.secret), keyId: String(made.body?.id) };
  }

  /** Publishes 1.0.0 of an app, and returns the id of the release. */
  async function published(tenant: Tenant, app: string): Promise<string> {
    return String(releaseOf(await publish(node, tenant, '1.0.0', { app })).id);
  }

  async function listed(tenant: Tenant, keyId: string): Promise<Json | undefined> {
    const { body } = await admin(node, 'GET', `keys?org=${tenant.org}`);
    return (body?.keys as Json[] | undefined)?.find(({ id }) => id === keyId);
  }

  /** Reads what calls left in the audit log; a plan goes on meanwhile, and what it does is not theirs. */
  async function auditedCalls(tenant: Tenant): Promise<Json[]> {
    const entries = await auditOf(node, tenant);
    return entries.filter(({ actor }) => !String(actor).startsWith('plan:'));
  }

  /** Paths that were called, with their methods. */
  const called = new Set<string>();
  function call(key: Tenant, method: string, path: string, body?: Json): Promise<Answer> {
    called.add(`${method} /api/v1/${path.replace(/\?.*/, '')}`);
    return manage(node, key, method, path, body);
  }

  /** Makes a call with a body that names the app. */
  const writes =
    (method: string, path: string, more: Json) =>
    (key: Tenant, app: string): Promise<Answer> =>
      call(key, method, path, { app, ...more });
  /** Makes a call that names the app in its query. */
  const reads =
    (path: string, query = '') =>
    (key: Tenant, app: string): Promise<Answer> =>
      call(key, 'GET', `${path}?app=${app}${query}`);
  const steps = [{ rollout: 100, holdMinutes: 60 }];
  const plan = writes('PUT', 'releases/plan', { ...NAME, steps });
  /** Plans for a release that not all devices get yet: such a plan stays running, and can be held. */
  const prepare = async (owner: Tenant, app: string) => {
    await writes('PATCH', 'releases', { ...NAME, rollout: 10 })(owner, app);
    return plan(owner, app);
  };
  const reportDevice = writes('POST', 'fleet/report', { devices: [{ ...DEVICE, ...STABLE }] });
  /** Asks for a release on a channel that asks for approvals. */
  const ask = async (owner: Tenant, app: string) => {
    await admin(node, 'PATCH', 'channels', { app, name: 'beta', approvals: 'one' });
    return writes('POST', 'releases', { channel: 'beta', version: '5.0.0' })(owner, app);
  };
  const calls: readonly Call[] = [
    {
      ...{ what: 'publish', needs: ['publish'] },
      make: writes('POST', 'releases', { ...STABLE, version: '3.0.0', artifacts: [] }),
    },
    {
      ...{ what: 'dry run of a publish', needs: ['publish'] },
      make: writes('POST', 'releases?dryRun=true', { ...STABLE, version: '4.0.0' }),
    },
    {
      ...{ what: 'promote', needs: ['publish'] },
      make: writes('POST', 'releases/promote', { from: 'stable', to: 'beta', version: '1.0.0' }),
    },
    { what: 'withdraw', needs: ['publish'], make: writes('DELETE', 'releases', NAME) },
    {
      ...{ what: 'serving control', needs: ['control'] },
      make: writes('PATCH', 'releases', { ...NAME, status: 'paused' }),
    },
    {
      ...{ what: 'dry run of serving control', needs: ['control'] },
      make: writes('PATCH', 'releases?dryRun=true', { ...NAME, status: 'paused' }),
    },
    { what: 'plan of a rollout', needs: ['control'], make: plan },
    {
      ...{ what: 'steering of a plan', needs: ['control'], prepare },
      make: writes('PATCH', 'releases/plan', { ...NAME, action: 'hold' }),
    },
    {
      ...{ what: 'reading of a plan', needs: ['read'], prepare },
      make: reads('releases/plan', NAME_QUERY),
    },
    {
      ...{ what: 'health of a release', needs: ['read'] },
      make: reads('releases/health', NAME_QUERY),
    },
    {
      ...{ what: 'report', needs: ['fleet'] },
      make: writes('POST', 'fleet/report', { devices: [{ ...DEVICE, ...STABLE }] }),
    },
    {
      ...{ what: 'decisions', needs: ['fleet'] },
      make: writes('POST', 'fleet/decisions', { ...STABLE, devices: [DEVICE] }),
    },
    {
      ...{ what: 'decisions as a dry run', needs: ['fleet'] },
      make: writes('POST', 'fleet/decisions', { ...STABLE, dryRun: true, devices: [DEVICE] }),
    },
    {
      ...{ what: 'one release by name', needs: ['read', 'publish'], namesNothing: true },
      make: reads('releases', NAME_QUERY),
    },
    {
      ...{ what: 'list of releases', needs: ['read'], namesNothing: true },
      make: reads('releases'),
    },
    {
      ...{ what: 'list of apps', needs: ['read'], namesNothing: true },
      make: (key) => call(key, 'GET', 'apps'),
    },
    {
      ...{ what: 'one release by id', needs: ['read'] },
      make: (key, _app, id) => call(key, 'GET', `releases/${id}`),
    },
    { what: 'channels', needs: ['read'], make: reads('channels') },
    {
      ...{ what: 'presets of plans', needs: ['read'], namesNothing: true },
      make: (key) => call(key, 'GET', 'releases/plan/presets'),
    },
    { what: 'stop', needs: ['control'], make: writes('POST', 'stop', {}) },
    {
      ...{ what: 'end of a stop', needs: ['control'], prepare: writes('POST', 'stop', {}) },
      make: (key, _app, id, { stop }) =>
        call(key, 'POST', 'resume', { stop: id !== NOBODY ? (stop as Json).id : 'stp_nobody' }),
    },
    {
      ...{ what: 'list of approvals', needs: ['read'], namesNothing: true },
      make: (key) => call(key, 'GET', 'approvals'),
    },
    {
      ...{ what: 'one approval', needs: ['read'], prepare: ask },
      make: (key, _app, id, { approval }) =>
        call(key, 'GET', `approvals/${id !== NOBODY ? (approval as Json).id : 'apr_nobody'}`),
    },
    { what: 'one device', needs: ['read'], prepare: reportDevice, make: reads('devices/d1') },
    {
      ...{ what: 'erasure of a device', needs: ['fleet'], prepare: reportDevice },
      make: (key, app) => call(key, 'DELETE', `devices/d1?app=${app}`),
    },
    {
      ...{ what: 'erasure of a device by its query', needs: ['fleet'], prepare: reportDevice },
      make: (key, app) => call(key, 'DELETE', `devices?app=${app}&deviceId=d1`),
    },
    {
      ...{ what: 'explanation', needs: ['read'] },
      make: reads('explain', '&channel=stable&platform=linux'),
    },
  ];

  describe.each(calls)('$what', ({ needs, prepare, make, namesNothing }) => {
    it(`is allowed with ${needs.join(' or ')} alone, and 403 with every other right, after 404 (§25.3)`, async () => {
      const tenant = await createTenant(node);
      const id = await published(tenant, tenant.app);
      const made = (await prepare?.(tenant, tenant.app))?.body ?? {};
      const others = KEY_RIGHTS.filter((right) => !needs.includes(right));
      const without = await narrowed(tenant, { may: others });
      const before = await auditedCalls(tenant);
      expect(before.length).toBeGreaterThan(0);
      const refused = await make(without, tenant.app, id, made);
      expectError(refused, 403, `This key may not ${RIGHT_PHRASE[needs[0] as KeyRight]}`);
      const unknown = await make(without, 'nobody', NOBODY, made);
      expect(unknown.status).toBe(namesNothing ? 403 : 404);
      expect(await auditedCalls(tenant)).toEqual(before);
      for (const right of needs) {
        const only = await narrowed(tenant, { may: [right] });
        expect((await make(only, tenant.app, id, made)).status).toBeLessThan(300);
      }
    });

    it('does not see apps that the key was not made for (§25.2)', async () => {
      const tenant = await createTenant(node);
      const app = `${tenant.app}-other`;
      await admin(node, 'POST', 'apps', { org: tenant.org, ref: app, name: 'Other' });
      const id = await published(tenant, app);
      const made = (await prepare?.(tenant, app))?.body ?? {};
      const answer = await make(await narrowed(tenant, { apps: [tenant.app] }), app, id, made);
      expect(answer.status).toBe(namesNothing ? 200 : 404);
      if (namesNothing) expect(answer.text).not.toContain(app);
      const both = await narrowed(tenant, { apps: [tenant.appId, app] });
      expect((await make(both, app, id, made)).status).toBeLessThan(300);
    });
  });

  it('the calls above are all that there are', () => {
    const never = KEY_OPERATIONS.filter(({ method, path }) => {
      const pattern = new RegExp(`^${method} ${path.replace(/:\w+/, '[^/]+')}$`);
      return ![...called].some((each) => pattern.test(each));
    });
    expect(never.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  });

  it('a list of some releases needs read: publishing suffices only for one by its name (§25.3)', async () => {
    const tenant = await createTenant(node);
    const key = await narrowed(tenant, { may: ['publish'] });
    for (const query of ['', '?app=a&channel=stable', '?app=a&version=1.0.0']) {
      expect((await manage(node, key, 'GET', `releases${query}`)).status).toBe(403);
    }
    // A malformed call is 400 for a key without the right too.
    const fleet = await narrowed(tenant, { may: ['fleet'] });
    expect((await manage(node, fleet, 'POST', 'releases', { app: 1 })).status).toBe(400);
    expect((await manage(node, fleet, 'GET', 'channels')).status).toBe(400);
  });

  it('a HEAD, which tells how much a GET would answer, is refused as that is (§25.3)', async () => {
    const tenant = await createTenant(node);
    const fleet = await narrowed(tenant, { may: ['fleet'] });
    for (const path of ['apps', 'releases', `channels?app=${tenant.app}`]) {
      expect((await manage(node, fleet, 'HEAD', path)).status).toBe(403);
      expect((await manage(node, tenant, 'HEAD', path)).status).toBe(200);
    }
  });

  it('a dry run names devices only to a key that may read (§24.1)', async () => {
    const tenant = await createTenant(node);
    await report(node, tenant, [{ ...DEVICE, ...STABLE }]);
    const release = { ...STABLE, version: '2.0.0', artifacts: [ARTIFACT] };
    const exampleOf = async (may: readonly KeyRight[]) => {
      const key = await narrowed(tenant, { may });
      const { body } = await writes('POST', 'releases?dryRun=true', release)(key, tenant.app);
      const { gain, examples } = (body?.effect ?? {}) as Json;
      return [gain, examples];
    };
    expect(await exampleOf(['publish', 'read'])).toEqual([1, { gain: ['d1'], lose: [] }]);
    expect(await exampleOf(['publish'])).toEqual([1, { gain: [], lose: [] }]);
  });

  it('from its end on a key is 401; until then it works (§25.4)', async () => {
    const tenant = await createTenant(node);
    const end = Date.now() + 1500;
    const key = await narrowed(tenant, { expiresAt: new Date(end).toISOString() });
    const far = await narrowed(tenant, { expiresAt: '2099-01-01T00:00:00Z' });
    await eventually('the key is over', async () => {
      const { status, body } = await manage(node, key, 'GET', 'apps');
      return status === 401 && body?.error === 'Invalid or revoked API key';
    });
    expect(Date.now()).toBeGreaterThanOrEqual(end - 1);
    expect((await manage(node, far, 'GET', 'apps')).status).toBe(200);
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
    expectError(answer, status, error);
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
    const shown = { ...limits, apps: [tenant.app], lastUsedAt: null, lastUsedFrom: null };
    expect(await listed(tenant, key.keyId)).toMatchObject(shown);
    const whole = { apps: null, may: [...KEY_RIGHTS], expiresAt: null };
    expect(await listed(tenant, tenant.keyId)).toMatchObject(whole);
    await manage(node, key, 'GET', 'apps');
    await eventually('its use is recorded', async () => {
      const { lastUsedAt, lastUsedFrom } = (await listed(tenant, key.keyId)) ?? {};
      return lastUsedAt !== null && /^(127|10)\./.test(String(lastUsedFrom));
    });
    const [entry] = await auditOf(node, tenant, 'action=key.create');
    expect(entry?.after).toMatchObject(limits);
  });
});
