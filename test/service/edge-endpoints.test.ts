// Tests what a service answers edges (docs/contract.md 29.2, 29.3, 29.9): whom, signed with which key, about
// which apps, and which first offers it takes. What an edge makes of it is in edge.test.ts.

import { createPublicKey, randomUUID, verify } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  EDGE_NONCE_HEADER,
  EDGE_RECORD_HEADER,
  EDGE_SIGNATURE_HEADER,
} from '../../src/contract/edge.ts';
import { writeCheckIns } from '../../src/domain/fleet/check-in-payload.ts';
import { makeEdgeToken } from '../support/edge-node.ts';
import { eventually } from '../support/eventually.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { runSluiceHere } from '../support/sluice-command.ts';
import {
  type Answer,
  admin,
  control,
  createTenant,
  devicesOf,
  manage,
  publish,
  send,
  type Tenant,
} from '../support/tenant.ts';

/** What calls about a channel need beside its name. */
const BODIES: Readonly<Record<string, object>> = {
  snapshot: { known: [] },
  releases: { editions: [] },
  offer: { state: { epoch: 0, revision: 1 }, release: 'rel_none' },
};

serviceSuite('what a service answers edges', (service) => {
  let token: { readonly id: string; readonly secret: string };
  beforeAll(async () => {
    token = await makeEdgeToken(service);
  });

  /** Calls an endpoint for edges as an edge would. */
  function asEdge(method: string, path: string, body?: unknown, secret = token.secret) {
    const [shown = ''] = secret.split('.');
    return send(service, method, `/edge/v1/${path}`, {
      headers: { authorization: `Bearer ${shown}` },
      ...(body === undefined ? {} : { body }),
    });
  }

  /** Waits until the service tells edges of an app. */
  function told(tenant: Tenant): Promise<void> {
    return eventually('edges are told of the app', async () => {
      return (await asEdge('GET', 'index')).text.includes(tenant.app);
    });
  }

  describe('tokens of edges', () => {
    it('are made, listed and revoked by the operator alone (§29.2)', async () => {
      const tenant = await createTenant(service);
      const env = { SLUICE_URL: service.url, ADMIN_TOKEN: 'test-admin-token' };
      const args = ['edge-token', 'create', '--name', 'west', '--org', tenant.org, '--json'];
      const made = await runSluiceHere(args, env);
      const { id, secret, ...rest } = JSON.parse(made.stdout) as Record<string, unknown>;
      expect(rest).toMatchObject({ name: 'west', org: tenant.org, revokedAt: null });
      expect(String(secret)).toMatch(/^sluice-edge_[0-9a-f]{12}_[\w-]{43}\.[\w-]{43}$/);
      expect((await runSluiceHere(['edge-token', 'list'], env)).stdout).toContain(String(id));
      const revoked = await runSluiceHere(['edge-token', 'revoke', String(id)], env);
      expect([revoked.code, revoked.stdout]).toEqual([0, expect.stringContaining('revokedAt')]);
      for (const extra of [[], ['--org', tenant.org, '--all']]) {
        const answer = await runSluiceHere(['edge-token', 'create', '--name', 'x', ...extra], env);
        expect([answer.code, answer.stderr]).toEqual([2, expect.stringContaining('--all')]);
      }
      const unknown = await admin(service, 'POST', 'edge-tokens/revoke', { id: 'edt_none' });
      expect([unknown.status, unknown.body]).toEqual([404, { error: 'Unknown edge token' }]);
      const headers = { authorization: `Bearer ${tenant.secret}` };
      const withKey = await send(service, 'GET', '/console/api/edge-tokens', { headers });
      expect(withKey.status).toBe(401);
    });

    it('that are revoked open nothing (§29.2)', async () => {
      const { id, secret } = await makeEdgeToken(service);
      await admin(service, 'POST', 'edge-tokens/revoke', { id });
      expect((await asEdge('GET', 'index', undefined, secret)).status).toBe(401);
    });

    it('open what edges ask, and nothing else does (§29.2)', async () => {
      const tenant = await createTenant(service);
      for (const secret of ['', 'x', tenant.secret, 'test-admin-token']) {
        const answer = await asEdge('GET', 'index', undefined, secret);
        expect(answer.status, secret).toBe(401);
        expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      }
      const release = await manage(service, { ...tenant, secret: token.secret }, 'GET', 'releases');
      expect(release.status).toBe(401);
    });
  });

  describe('what edges ask', () => {
    let tenantOfCalls: Tenant | undefined;
    /** Whether an answer is signed for this nonce by the key that the token names. */
    function isSigned({ headers, status, text }: Answer, nonce: string): boolean {
      const [, key = ''] = token.secret.split('.');
      const jwk = { kty: 'OKP', crv: 'Ed25519', x: key };
      const signed = Buffer.from(`sluice edge v1\n${nonce}\n${status}\n${text}`);
      const [signature = ''] = (headers.get(EDGE_SIGNATURE_HEADER) ?? '').split(',');
      const publicKey = createPublicKey({ key: jwk, format: 'jwk' });
      return verify(null, signed, publicKey, Buffer.from(signature, 'base64url'));
    }

    it.each([
      ['GET', 'index', undefined, 200, 'index'],
      ['GET', 'time', undefined, 200, 'time'],
      ['POST', 'snapshot', BODIES.snapshot, 200, 'snapshot'],
      ['POST', 'releases', BODIES.releases, 200, 'releases'],
      ['POST', 'offer', BODIES.offer, 200, 'offer'],
      ['POST', 'labels', { devices: [] }, 200, 'labels'],
      ['GET', 'label-changes', undefined, 200, 'label-changes'],
      ['POST', 'check-ins', '', 200, 'check-ins'],
      ['POST', 'check-ins/awaited', '', 200, 'recorded'],
      ['POST', 'failures', { failures: [] }, 200, 'check-ins'],
      ['POST', 'snapshot', { known: [], channel: 'none' }, 404, undefined],
      ['POST', 'labels', {}, 400, undefined],
      ['POST', 'ahead', { proof: 'x y', index: '{}' }, 400, undefined],
    ] as const)('%s %s with %j is %d, and signed (§29.3)', async (...row) => {
      const [method, path, more, status, kind] = row;
      tenantOfCalls ??= await createTenant(service);
      await told(tenantOfCalls);
      const tenant = tenantOfCalls;
      const isAbout = ['snapshot', 'releases', 'offer'].includes(path);
      const named = isAbout ? { app: tenant.app, channel: 'stable', ...(more as object) } : more;
      const [shown = ''] = token.secret.split('.');
      const nonce = randomUUID().replaceAll('-', '');
      const headers = { authorization: `Bearer ${shown}`, [EDGE_NONCE_HEADER]: nonce };
      const body = named === undefined ? {} : { body: named };
      const answer = await send(service, method, `/edge/v1/${path}`, { headers, ...body });
      expect([answer.status, answer.body?.kind], answer.text).toEqual([status, kind]);
      expect([isSigned(answer, nonce), isSigned(answer, 'x'.repeat(32))]).toEqual([true, false]);
    });

    it('is refused with the field at fault (§29.9)', async () => {
      const bad: readonly (readonly [string, string, unknown, string])[] = [
        ['GET', 'index?wait=9999', undefined, 'wait'],
        ['POST', 'snapshot', { app: 'a', channel: 'b' }, 'known'],
        ['POST', 'releases', { app: 'a', channel: 'b' }, 'editions'],
        ['POST', 'offer', { app: 'a', channel: 'b', release: 'r' }, 'state'],
        ['POST', 'labels', { devices: [{ appId: 'a' }] }, 'devices.0.deviceId'],
        ['GET', 'label-changes?after=x', undefined, 'after'],
        ['POST', 'check-ins', 'nonsense', 'batches.0'],
        ['POST', 'check-ins/awaited', 'xx', 'batches.0'],
        ['POST', 'failures', { failures: 1 }, 'failures'],
        ['POST', 'ahead', { index: '{}' }, 'proof'],
        ['POST', 'ahead', { proof: 'x y', index: '{}' }, 'proof'],
      ];
      for (const [method, path, body, field] of bad) {
        const answer = await asEdge(method, path, body);
        expect([path, answer.status], answer.text).toEqual([path, 400]);
        expect(answer.body?.error, path).toMatch(new RegExp(`^${field}: `));
      }
    });

    it('is answered where the named record is its own, and nothing is taken else (§29.10)', async () => {
      const [shown = ''] = token.secret.split('.');
      const { body: index = {} } = await asEdge('GET', 'index');
      const as = (record: unknown) => ({
        headers: { authorization: `Bearer ${shown}`, [EDGE_RECORD_HEADER]: String(record) },
      });
      expect((await send(service, 'GET', '/edge/v1/time', as(index.record))).status).toBe(200);
      const other = { ...as('rec_other'), body: '' };
      const answer = await send(service, 'POST', '/edge/v1/check-ins', other);
      expect([answer.status, answer.body]).toEqual([
        409,
        { error: 'This service is of another record than the edge follows' },
      ]);
    });

    it('may be more check-ins than fit on a stack (§29.9)', async () => {
      const count = 2 ** 18;
      const networks = Buffer.alloc(count * 8).toString('base64');
      const context = ['app_none', 'stable', 'linux', 'x86_64', 'pull', null];
      const shared = Buffer.from(JSON.stringify([[context], ['1.0.0'], networks]));
      const head = Buffer.from(new Uint32Array([0, shared.length, 2, count]).buffer);
      const batch = Buffer.concat([head, Buffer.alloc(count * 12), shared, Buffer.from('[]')]);
      batch.writeUInt32LE(batch.length - 4);
      const [shown = ''] = token.secret.split('.');
      const headers = { authorization: `Bearer ${shown}` };
      const url = `${service.url}/edge/v1/check-ins`;
      const answer = await fetch(url, { method: 'POST', headers, body: batch });
      expect([answer.status, await answer.json()]).toMatchObject([200, { accepted: 0 }]);
    });

    it('of an app of another organization is about none (§29.2)', async () => {
      const [mine, other] = [await createTenant(service), await createTenant(service)];
      const { secret } = await makeEdgeToken(service, mine.org);
      for (const path of ['snapshot', 'releases', 'offer']) {
        const ask = (app: string, channel: string) =>
          asEdge('POST', path, { app, channel, ...BODIES[path] }, secret);
        for (const channel of ['stable', 'none']) {
          const answers = [await ask(other.app, channel), await ask('app-none', channel)];
          const refusal = { status: 404, text: '{"error":"Unknown app"}' };
          expect(answers, `${path} ${channel}`).toMatchObject([refusal, refusal]);
        }
      }
    });

    it('hands over offers of its own apps only: no signals of others (§29.2)', async () => {
      const [mine, other] = [await createTenant(service), await createTenant(service)];
      const [shown = ''] = (await makeEdgeToken(service, mine.org)).secret.split('.');
      const upload = async (offeredReleaseId: string | undefined) => {
        const seen = { appId: mine.appId, deviceId: 'd', channel: 'stable', version: '0.9.0' };
        const machine = { platform: 'linux', arch: 'x86_64', source: 'pull' } as const;
        const said = { at: Date.now(), labels: undefined, offeredReleaseId };
        const headers = { authorization: `Bearer ${shown}` };
        for (const path of ['check-ins', 'check-ins/awaited']) {
          const body = Buffer.from(writeCheckIns([{ ...seen, ...machine, ...said }]));
          const url = `${service.url}/edge/v1/${path}`;
          expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(200);
        }
      };
      await told(mine);
      await upload(undefined);
      await eventually('it is on record', async () => (await devicesOf(service, mine)).length > 0);
      const releaseOf = async (tenant: Tenant) => {
        const { body = {} } = await publish(service, tenant, '1.0.0');
        return (body.release as { id: string }).id;
      };
      const releases = [await releaseOf(other), await releaseOf(mine)];
      for (const release of releases) await upload(release);
      const offeredOf = async (tenant: Tenant) => {
        const name = `app=${tenant.app}&channel=stable&version=1.0.0&knownForMinutes=0`;
        const { body = {} } = await manage(service, tenant, 'GET', `releases/health?${name}`);
        return (body.health as { offered: number }).offered;
      };
      await eventually('its own counts', async () => (await offeredOf(mine)) === 1);
      expect(await offeredOf(other)).toBe(0);
    });

    it('is the same to who has it already, until something changes (§29.3)', async () => {
      const tenant = await createTenant(service);
      await told(tenant);
      // What others do on the node is no change for an edge of this organization.
      const own = await makeEdgeToken(service, tenant.org);
      const index = (path: string, headers: Record<string, string> = {}) => {
        const [shown = ''] = own.secret.split('.');
        const all = { authorization: `Bearer ${shown}`, ...headers };
        return send(service, 'GET', `/edge/v1/${path}`, { headers: all });
      };
      const first = await index('index');
      const tag = first.headers.get('etag') ?? '';
      expect([first.status, tag]).toEqual([200, `"${String(first.body?.tag)}"`]);
      const nonce = 'n'.repeat(32);
      const held = { 'if-none-match': tag, [EDGE_NONCE_HEADER]: nonce };
      const same = await index('index', held);
      expect([same.status, same.text, isSigned(same, nonce)]).toEqual([304, '', true]);
      const waiting = index('index?wait=5000', held);
      await publish(service, tenant, '1.0.0');
      expect((await waiting).status).toBe(200);
    });

    it('offers only what devices can be offered in that state (§29.4)', async () => {
      const tenant = await createTenant(service);
      const { body = {} } = await publish(service, tenant, '1.0.0', { rollout: 0 });
      const release = (body.release as { id: string }).id;
      await told(tenant);
      const { body: index = {} } = await asEdge('GET', 'index');
      const entry = (index.channels as unknown[][]).find(
        ([, app, , channel]) => app === tenant.app && channel === 'stable',
      );
      const state = { epoch: index.epoch, revision: entry?.[4] };
      const offer = (change: object = {}) =>
        asEdge('POST', 'offer', {
          ...{ app: tenant.app, channel: 'stable', state, release },
          ...change,
        });
      expect((await offer()).body).toMatchObject({ isRecorded: false });
      expect((await offer({ release: 'rel_none' })).body).toMatchObject({ isRecorded: false });
      await control(service, tenant, '1.0.0', { rollout: 50 });
      const revision = Number(state.revision) + 1;
      expect((await offer()).body).toMatchObject({ isRecorded: false, revision });
      const present = { ...state, revision };
      expect((await offer({ state: present })).body).toMatchObject({ isRecorded: true });
      expect((await control(service, tenant, '1.0.0', { rollout: 10 })).status).toBe(422);
    });

    it('sends a release once: not to who names its edition (§29.3)', async () => {
      const tenant = await createTenant(service);
      await publish(service, tenant, '1.0.0', { notes: 'long notes' });
      const ask = (known: readonly string[]) =>
        asEdge('POST', 'snapshot', { app: tenant.app, channel: 'stable', known });
      const first = await ask([]);
      const editions = Object.keys(first.body?.releases as object);
      expect([editions.length, first.text.includes('long notes')]).toEqual([1, true]);
      const again = await ask(editions);
      expect(again.body?.releases).toEqual({});
      expect(again.body?.index).toBe(first.body?.index);
    });
  });
});
