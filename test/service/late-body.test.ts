// Tests requests that were admitted before their caller's right ended, and whose body arrives after it: the
// right is read where the write happens, so they are refused as if they had begun later.

import { sign } from '@octokit/webhooks-methods';
import { beforeAll, describe, expect, it } from 'vitest';
import { consoleWrites } from '../support/console-writes.ts';
import { asset, deliver, enableWebhook, releaseEvent } from '../support/github.ts';
import { member, PASSWORD, type Person } from '../support/person.ts';
import { beginSlowly, type SlowAnswer } from '../support/raw-exchange.ts';
import { serviceSuite, suiteTenant } from '../support/service-suite.ts';
import { ARTIFACT, admin, createTenant, randomId } from '../support/tenant.ts';

const REVOKED = { status: 401, body: { error: 'Invalid or revoked API key' } };
const WRONG_SIGNATURE = {
  ...{ status: 401, body: { error: 'Missing or wrong X-Hub-Signature-256' } },
};
const SIGNED_OUT = { status: 401, body: { error: 'Sign in first' } };

serviceSuite('a right that ends while the body is on its way', (node) => {
  const tenant = suiteTenant(node, ['1.0.0', { rollout: 50 }]);

  describe('a key that is revoked (§5.1)', () => {
    const device = { deviceId: 'kiosk', version: '0.9.0', platform: 'linux', arch: 'x86_64' };

    it('refuses publishing, serving control and a report', async () => {
      for (const [method, path, parts] of [
        ['POST', 'releases', { version: '6.6.6', artifacts: [ARTIFACT] }],
        ['POST', 'releases', { version: '1.0.0' }],
        ['PATCH', 'releases', { version: '1.0.0', status: 'paused' }],
        // What changes nothing, and what there is not.
        ['PATCH', 'releases', { version: '1.0.0', rollout: 50 }],
        ['PATCH', 'releases', { version: '7.0.0', rollout: 50 }],
        ['POST', 'fleet/report', { devices: [device] }],
      ] as const) {
        const channel = path === 'releases' ? { channel: 'stable' } : {};
        const body = { app: tenant.app, ...channel, ...parts };
        expect([parts, await afterRevocation(method, path, body)]).toEqual([parts, REVOKED]);
      }
      expect(await releases()).toEqual([['1.0.0', 'published']]);
      expect(await tenant.devices()).toEqual([]);
    });

    it('refuses decisions, also a dry run, and offers nothing', async () => {
      const own = await createTenant(node, ['1.0.0']);
      for (const dryRun of [true, false]) {
        const body = { app: own.app, dryRun, devices: [device] };
        expect(await afterRevocation('POST', 'fleet/decisions', body, own)).toEqual(REVOKED);
      }
      expect(await own.devices()).toEqual([]);
      const narrowed = { app: own.app, channel: 'stable', version: '1.0.0', rollout: 1 };
      expect((await own.manage('PATCH', 'releases', narrowed)).status).toBe(200);
    });

    /** Sends a request whose key is revoked between the halves of its body. */
    async function afterRevocation(
      method: string,
      path: string,
      body: unknown,
      owner = tenant,
    ): Promise<SlowAnswer> {
      const caller = await owner.anotherKey();
      const headers = { authorization: `Bearer ${caller.secret}` };
      const finish = await beginSlowly(node, `${method} /api/v1/${path}`, { headers, body });
      // A request that came later has been admitted, and so has the slow one.
      for (let count = 0; count < 2; count++) await caller.manage('GET', 'apps');
      expect((await admin(node, 'POST', `keys/${caller.keyId}/revoke`)).status).toBe(200);
      return finish();
    }
  });

  it.each([
    ['disabled', 'webhooks/disable', {}, { status: 404, body: { error: 'Unknown app' } }],
    ['given another secret', 'webhooks', { provider: 'github' }, WRONG_SIGNATURE],
  ])('a webhook that is %s refuses a late delivery (§18.2)', async (_, path, parts, refusal) => {
    const own = await createTenant(node);
    const hook = await enableWebhook(node, own);
    const event = releaseEvent('v6.6.6', { assets: [asset('notes-linux-amd64')] });
    const body = JSON.stringify(event);
    const signature = { 'x-hub-signature-256': await sign(hook.secret, body) };
    const headers = { 'x-github-event': 'release', ...signature };
    const finish = await beginSlowly(node, `POST ${hook.path}`, { headers, body });
    for (let count = 0; count < 2; count++) await deliver(node, hook, '{}', { event: 'ping' });
    const ended = await admin(node, 'POST', path, { app: own.app, ...parts });
    expect(ended.status).toBeLessThan(300);
    expect(await finish()).toEqual(refusal);
    expect((await own.manage('GET', 'releases')).body?.total).toBe(0);
    const { body: shown } = await admin(node, 'GET', `webhooks?app=${own.app}`);
    expect(shown?.deliveries).toHaveLength(2);
  });

  describe('a person', () => {
    let made: { keyId: string; invitationId: string; accountId: string };
    beforeAll(async () => {
      const invitation = { org: tenant.org, email: `${randomId()}@example.com`, role: 'viewer' };
      const invited = await admin(node, 'POST', 'invitations', invitation);
      const other = await member(node, tenant.org, 'publisher');
      const key = await tenant.anotherKey();
      const invitationId = String(invited.body?.id);
      made = { keyId: key.keyId, invitationId, accountId: other.accountId };
    });

    const signOut = async (person: Person) =>
      (await person.elsewhereSignedIn()).call('DELETE', 'sessions');

    it('who signs out everywhere leaves nothing that is still written', async () => {
      const before = await state();
      for (const [, method, path, body] of lateWrites()) {
        const person = await member(node, tenant.org, 'owner');
        const audited = await auditedOf(person);
        const refusal = await lateWrite(person, method, path, body, () => signOut(person));
        expect([path, refusal]).toEqual([path, SIGNED_OUT]);
        expect(await auditedOf(person)).toBe(audited);
      }
      expect(await state()).toEqual(before);
    });

    it('who signs out changes no password', async () => {
      const person = await member(node, tenant.org, 'owner');
      const body = { current: PASSWORD, next: 'another long password' };
      const refusal = await lateWrite(person, 'POST', 'password', body, () => signOut(person));
      expect(refusal).toEqual(SIGNED_OUT);
      expect((await person.elsewhere().signIn()).status).toBe(200);
    });

    it('whose role is taken away is refused as one who never had it; a former member knows nothing', async () => {
      const writes = lateWrites();
      // Membership is read as the role is, so that the first of each role will do.
      const firsts = writes.filter(
        ([role], at) => writes.findIndex(([each]) => each === role) === at,
      );
      for (const [all, change, status, error] of [
        [writes, 'PATCH', 403, 'Your role may not do this'],
        [firsts, 'DELETE', 404, expect.stringMatching(/^Unknown /)],
      ] as const) {
        for (const [role, method, path, body] of all) {
          const person = await member(node, tenant.org, role);
          const viewer = change === 'PATCH' ? { role: 'viewer' } : {};
          const whom = { org: tenant.org, account: person.accountId, ...viewer };
          const lose = () => admin(node, change, 'members', whom);
          const refusal = await lateWrite(person, method, path, body, lose);
          expect([path, refusal]).toEqual([path, { status, body: { error } }]);
        }
      }
    });

    /** Returns the writes that wait for a body; what has none is over before anybody could lose a right. */
    function lateWrites() {
      return consoleWrites(tenant, made).filter(([, , , body]) => body !== undefined);
    }

    /** Sends a write whose author loses the right between the halves of its body. */
    async function lateWrite(
      person: Person,
      method: string,
      path: string,
      body: unknown,
      lose: () => Promise<unknown>,
    ): Promise<SlowAnswer> {
      const headers = { origin: node.url, cookie: `sluice_session=${person.token}` };
      const finish = await beginSlowly(node, `${method} /console/api/${path}`, { headers, body });
      for (let count = 0; count < 2; count++) await person.call('GET', 'session');
      await lose();
      return finish();
    }
  });

  async function releases() {
    const { body } = await admin(node, 'GET', `releases?app=${tenant.app}&channel=stable`);
    const all = (body?.releases ?? []) as { version: string; status: string }[];
    return all.map(({ version, status }) => [version, status]);
  }

  /** Returns what the writes of the console change. */
  async function state() {
    const reads = [`apps?org=${tenant.org}`, `channel?app=${tenant.app}&channel=beta`];
    const answers = await Promise.all(
      [...reads, `webhooks?app=${tenant.app}`].map((path) => admin(node, 'GET', path)),
    );
    return [...answers.map(({ body }) => body), await releases()];
  }

  /** Returns how many writes of the person the audit has, sign-ins aside. */
  async function auditedOf(person: Person): Promise<number> {
    const query = `audit?org=${tenant.org}&limit=1000&actor=${encodeURIComponent(person.email)}`;
    const { body } = await admin(node, 'GET', query);
    const entries = (body?.entries ?? []) as { action: string }[];
    return entries.filter(({ action }) => !action.startsWith('account.')).length;
  }
});
