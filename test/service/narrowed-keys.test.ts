// Tests what a key may call (docs/contract.md 5 and 25), each call in one table: without a key, with one of
// another organization, and with keys that were narrowed to apps, rights or an end.

import { beforeAll, describe, expect, it } from 'vitest';
import { KEY_RIGHTS, type KeyRight } from '../../src/contract/resource.ts';
import { KEY_OPERATIONS } from '../../src/http/api/key-routes.ts';
import { eventually } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import { serviceSuite, suiteTenant } from '../support/service-suite.ts';
import {
  type Answer,
  ARTIFACT,
  admin,
  createTenant,
  type Json,
  releaseOf,
  send,
  type Tenant,
} from '../support/tenant.ts';

/** What a call names: an app, a release of it by its id, an approval and a stop. */
type Subject = Readonly<Record<'app' | 'release' | 'approval' | 'stop', string>>;
type Call = readonly [method: string, path: string, body?: Json];

const RIGHT_PHRASE: Readonly<Record<KeyRight, string>> = {
  read: 'read',
  publish: 'publish',
  control: 'change how releases are served',
  fleet: 'report or plan for devices',
};
const STABLE = { channel: 'stable' };
const DEVICE = { deviceId: 'd1', version: '0.9.0', platform: 'linux', arch: 'x86_64' };
const STEPS = [{ rollout: 100, holdMinutes: 60 }];
const UNKNOWN: Subject = {
  ...{ app: 'nobody', release: 'rel_nobody', approval: 'apr_nobody', stop: 'stp_nobody' },
};

/** Returns every call with the rights of which one suffices, in an order in which each succeeds. */
function calls({ app, ...of }: Subject): readonly (readonly [needs: string, ...Call])[] {
  const name = { app, ...STABLE, version: '1.0.0' };
  const query = `?app=${app}&channel=stable&version=1.0.0`;
  return [
    ['publish', 'POST', 'releases', { ...name, version: '3.0.0', artifacts: [] }],
    ['publish', 'POST', 'releases?dryRun=true', { ...name, version: '4.0.0' }],
    ['publish', 'POST', 'releases/promote', { app, version: '1.0.0', from: 'stable', to: 'beta' }],
    ['publish', 'DELETE', 'releases', { ...name, channel: 'beta', version: '0.5.0' }],
    ['control', 'PATCH', 'releases', { ...name, status: 'published' }],
    ['control', 'PATCH', 'releases?dryRun=true', { ...name, status: 'paused' }],
    ['control', 'POST', 'releases/retry', name],
    ['control', 'PUT', 'releases/plan', { ...name, version: '2.0.0', steps: STEPS }],
    ['control', 'PATCH', 'releases/plan', { ...name, action: 'hold' }],
    ['read', 'GET', `releases/plan${query}`],
    ['read', 'GET', `releases/health${query}`],
    ['fleet', 'POST', 'fleet/report', { app, devices: [{ ...DEVICE, ...STABLE }] }],
    ['fleet', 'POST', 'fleet/decisions', { app, ...STABLE, devices: [DEVICE] }],
    ['fleet', 'POST', 'fleet/decisions', { app, ...STABLE, dryRun: true, devices: [DEVICE] }],
    ['fleet', 'POST', 'ddi/tokens', { app, deviceIds: ['d1'] }],
    ['read or publish', 'GET', `releases${query}`],
    ['read', 'GET', `releases?app=${app}`],
    ['read', 'GET', 'apps'],
    ['read', 'GET', `releases/${of.release}`],
    ['read', 'GET', `channels?app=${app}`],
    ['read', 'GET', 'releases/plan/presets'],
    ['read', 'GET', 'approvals'],
    ['read', 'GET', `approvals/${of.approval}`],
    ['read', 'GET', `devices/d1?app=${app}`],
    ['read', 'GET', `explain?app=${app}&channel=stable&platform=linux`],
    ['fleet', 'DELETE', `devices/d1?app=${app}`],
    ['fleet', 'DELETE', `devices?app=${app}&deviceId=d2`],
    ['control', 'POST', 'resume', { stop: of.stop }],
    ['control', 'POST', 'stop', { app }],
  ];
}
/** Calls that name no app or release in a way that could be unknown. */
const NAMELESS = /^GET (?:apps|approvals|releases(?:\?.*|\/plan\/presets))$/;

serviceSuite('narrowed keys', (node) => {
  const tenant = suiteTenant(node);

  async function listed(keyId: string): Promise<Json | undefined> {
    const { body } = await admin(node, 'GET', `keys?org=${tenant.org}`);
    return (body?.keys as Json[] | undefined)?.find(({ id }) => id === keyId);
  }

  describe('each call', () => {
    let subject: Subject;
    let other: Tenant;
    beforeAll(async () => {
      other = await tenant.anotherApp();
      const { app } = other;
      // A plan for a release that not all devices get yet stays running, and can be held.
      const made = await tenant.publish('1.0.0', { app, rollout: 10 });
      const plan = { app, ...STABLE, version: '1.0.0', steps: STEPS };
      expect((await tenant.manage('PUT', 'releases/plan', plan)).status).toBe(200);
      await tenant.publish('2.0.0', { app, rollout: 0 });
      await tenant.publish('0.5.0', { app, channel: 'beta' });
      const devices = ['d1', 'd2'].map((deviceId) => ({ ...DEVICE, deviceId, ...STABLE }));
      await tenant.report(devices, { app });
      await admin(node, 'POST', 'channels', { app, name: 'gated' });
      await other.setChannel({ approvals: 'one' }, 'gated');
      const asked = await tenant.publish('5.0.0', { app, channel: 'gated' });
      const stopped = await tenant.manage('POST', 'stop', { app, channel: 'gated' });
      const idIn = (answer: Answer, what: string) =>
        String(((answer.body?.[what] ?? {}) as Json).id);
      const release = String(releaseOf(made).id);
      subject = { app, release, approval: idIn(asked, 'approval'), stop: idIn(stopped, 'stop') };
    });

    /** Reads what calls left in the audit log; a plan goes on meanwhile, and what it does is not theirs. */
    const audited = async (query?: string) =>
      (await tenant.audit(query)).filter(({ actor }) => !String(actor).startsWith('plan:'));
    const call = (key: Tenant, [method, path, body]: Call) => key.manage(method, path, body);

    it('is 403 with every right but its own, after 404, and does nothing (§25.3)', async () => {
      const before = await audited();
      expect(before.length).toBeGreaterThan(0);
      for (const needs of ['read', 'publish', 'control', 'fleet', 'read or publish']) {
        const key = await tenant.anotherKey({
          may: KEY_RIGHTS.filter((right) => !needs.includes(right)),
        });
        const [first] = needs.split(' ') as KeyRight[];
        const phrase = `This key may not ${RIGHT_PHRASE[first ?? 'read']}`;
        const ofUnknown = calls(UNKNOWN);
        for (const [index, [needed, ...each]] of calls(subject).entries()) {
          if (needed !== needs) continue;
          const told = each.slice(0, 2).join(' ');
          const refused = await call(key, each);
          expect([told, refused.status, refused.body]).toEqual([told, 403, { error: phrase }]);
          const [, ...unknown] = ofUnknown[index] ?? [''];
          const { status } = await call(key, unknown as unknown as Call);
          expect([told, status]).toEqual([told, NAMELESS.test(told) ? 403 : 404]);
        }
      }
      const made = await audited('limit=1000&action=key.create');
      expect(await audited()).toEqual([...made.slice(0, 5), ...before]);
    });

    it('does not see apps of another organization, or that the key was not made for, by ref or id (§5.2, §25.2)', async () => {
      const keys = [await tenant.anotherKey({ apps: [tenant.app] }), await createTenant(node)];
      const before = await audited();
      for (const key of keys) {
        for (const [, ...each] of [...calls(subject), ...calls({ ...subject, app: other.appId })]) {
          const { status, text } = await call(key, each);
          const told = each.slice(0, 2).join(' ');
          expect([told, status]).toEqual([told, NAMELESS.test(told) ? 200 : 404]);
          expect(text).toMatch(
            status === 404 ? /^{"error":"Unknown (?:app|release|approval|stop)"}$/ : /^{/,
          );
          if (status === 200) expect(text).not.toContain(subject.app);
        }
      }
      expect(await audited()).toEqual(before);
    });

    it('is 401 without a key, before its body is read (§11.7)', async () => {
      for (const [, method, path, body] of calls(UNKNOWN)) {
        const answer = await send(
          node,
          method,
          `/api/v1/${path}`,
          body === undefined ? {} : { body: '{' },
        );
        expectError(answer, 401, 'Invalid or revoked API key');
      }
    });

    it('is allowed with its right alone, about the apps that the key was made for (§25.2)', async () => {
      const keys = new Map<string, Tenant>();
      for (const right of KEY_RIGHTS) {
        keys.set(
          right,
          await tenant.anotherKey({ may: [right], apps: [tenant.appId, subject.app] }),
        );
      }
      for (const [needs, ...each] of calls(subject)) {
        for (const right of needs.split(' or ')) {
          let answer: Answer | undefined;
          // The store of a busy machine may answer later than a call waits.
          await eventually('a store answers in time', async () => {
            answer = await call(keys.get(right) ?? tenant, each);
            return answer.status !== 503;
          });
          expect(answer?.status, `${each.slice(0, 2).join(' ')} ${answer?.text}`).toBeLessThan(300);
        }
      }
    });

    it('is in the table', () => {
      const called = calls(UNKNOWN).map(
        ([, method, path]) => `${method} ${path.replace(/\?.*/, '')}`,
      );
      const never = KEY_OPERATIONS.filter(({ method, path }) => {
        const plain = path.replace('/api/v1/', '').replace(/:\w+/, '(?:d1|\\w+_nobody)');
        return !called.some((each) => new RegExp(`^${method} ${plain}$`).test(each));
      });
      expect(never.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
    });
  });

  it('a list of some releases needs read: publishing suffices only for one by its name (§25.3)', async () => {
    const key = await tenant.anotherKey({ may: ['publish'] });
    for (const query of ['', '?app=a&channel=stable', '?app=a&version=1.0.0']) {
      expect((await key.manage('GET', `releases${query}`)).status).toBe(403);
    }
    const fleet = await tenant.anotherKey({ may: ['fleet'] });
    // A malformed call is 400 for a key without the right too.
    expect((await fleet.manage('POST', 'releases', { app: 1 })).status).toBe(400);
    expect((await fleet.manage('GET', 'channels')).status).toBe(400);
    // A HEAD, which tells how much a GET would answer, is refused as that is.
    for (const path of ['apps', 'releases', `channels?app=${tenant.app}`]) {
      expect((await fleet.manage('HEAD', path)).status).toBe(403);
      expect((await tenant.manage('HEAD', path)).status).toBe(200);
    }
  });

  it('a dry run names devices only to a key that may read (§24.1)', async () => {
    await tenant.report([{ ...DEVICE, ...STABLE }]);
    const release = { app: tenant.app, ...STABLE, version: '2.0.0', artifacts: [ARTIFACT] };
    const exampleOf = async (...may: readonly KeyRight[]) => {
      const key = await tenant.anotherKey({ may });
      const { body } = await key.manage('POST', 'releases?dryRun=true', release);
      const { gain, examples } = (body?.effect ?? {}) as Json;
      return [gain, examples];
    };
    expect(await exampleOf('publish', 'read')).toEqual([1, { gain: ['d1'], lose: [] }]);
    expect(await exampleOf('publish')).toEqual([1, { gain: [], lose: [] }]);
  });

  it('from its end on a key is 401; until then it works (§25.4)', async () => {
    const end = Date.now() + 1500;
    const key = await tenant.anotherKey({ expiresAt: new Date(end).toISOString() });
    await eventually('the key is over', async () => {
      const { status, body } = await key.manage('GET', 'apps');
      return status === 401 && body?.error === 'Invalid or revoked API key';
    });
    expect(Date.now()).toBeGreaterThanOrEqual(end - 1);
  });

  it.each([
    [{ expiresAt: '2020-01-01T00:00:00Z' }, 400, 'expiresAt: must lie in the future'],
    [{ expiresAt: 'tomorrow' }, 400, 'expiresAt: Must be an RFC 3339 time'],
    [{ apps: ['nobody'] }, 404, 'Unknown app nobody'],
    [{ apps: [] }, 400, expect.stringContaining('apps')],
    [{ may: [] }, 400, expect.stringContaining('may')],
    [{ may: ['everything'] }, 400, expect.stringContaining('may.0')],
    [{ apps: Array(51).fill('a') }, 400, expect.stringContaining('apps')],
  ])('a key with %j is refused when it is made (§25.4)', async (limits, status, error) => {
    const body = { org: tenant.org, name: 'x', ...limits };
    expectError(await admin(node, 'POST', 'keys', body), status, error);
  });

  it("an app of another organization is unknown to a key's maker (§25.4)", async () => {
    const { app } = await createTenant(node);
    const limits = { org: tenant.org, name: 'x', apps: [app] };
    expectError(await admin(node, 'POST', 'keys', limits), 404, `Unknown app ${app}`);
  });

  it('what a key is narrowed to, and when and from where it was used, is listed and audited (§25.5)', async () => {
    const limits = { may: ['read', 'control'], expiresAt: '2099-01-01T00:00:00.000Z' };
    const key = await tenant.anotherKey({ ...limits, apps: [tenant.appId] });
    const shown = { ...limits, apps: [tenant.app], lastUsedAt: null, lastUsedFrom: null };
    expect(await listed(key.keyId)).toMatchObject(shown);
    const whole = { apps: null, may: [...KEY_RIGHTS], expiresAt: null };
    expect(await listed(tenant.keyId)).toMatchObject(whole);
    expect((await key.manage('GET', 'apps')).status).toBe(200);
    await eventually('its use is recorded', async () => {
      const { lastUsedAt, lastUsedFrom } = (await listed(key.keyId)) ?? {};
      return lastUsedAt !== null && /^(127|10)\./.test(String(lastUsedFrom));
    });
    const [entry] = await tenant.audit('action=key.create');
    expect(entry?.after).toMatchObject({ ...limits, apps: [tenant.appId] });
  });
});
