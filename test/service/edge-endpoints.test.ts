// Tests what a service answers edges (docs/contract.md 29.2, 29.3, 29.9): whom, signed with which key, about
// which apps, and which first offers it takes. What an edge makes of it is in edge.test.ts.

import { createPublicKey, randomUUID, verify } from 'node:crypto';
import { beforeAll, expect, it } from 'vitest';
import {
  EDGE_NONCE_HEADER,
  EDGE_RECORD_HEADER,
  EDGE_SIGNATURE_HEADER,
} from '../../src/contract/edge.ts';
import { writeCheckIns } from '../../src/domain/fleet/check-in-payload.ts';
import { checkInOf } from '../store/engine/fleet-sample.ts';
import { asEdge, makeEdgeToken } from '../support/edge-node.ts';
import { eventually } from '../support/eventually.ts';
import { exchangeRaw, requestHead } from '../support/raw-exchange.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { runSluiceHere } from '../support/sluice-command.ts';
import { type Answer, admin, createTenant, Tenant } from '../support/tenant.ts';

/** What calls about a channel need beside its name. */
const BODIES: Readonly<Record<string, object>> = {
  snapshot: { known: [] },
  releases: { editions: [] },
  offer: { state: { epoch: 0, revision: 1 }, release: 'rel_none' },
};

serviceSuite('what a service answers edges', (service) => {
  let token: string;
  let tenant: Tenant;
  beforeAll(async () => {
    token = (await makeEdgeToken(service)).secret;
    tenant = await createTenant(service);
    await told(tenant);
  });

  const post = (path: string, body: unknown, secret = token) =>
    asEdge(service, secret, 'POST', path, { body });

  /** Waits until the service tells edges of an app. */
  function told(tenant: Tenant): Promise<void> {
    return eventually('edges are told of the app', async () => {
      return (await asEdge(service, token, 'GET', 'index')).text.includes(tenant.app);
    });
  }

  /** Whether an answer is signed for this nonce by the key that the token names. */
  function isSigned({ headers, status, text }: Answer, nonce: string): boolean {
    const [, key = ''] = token.split('.');
    const signed = Buffer.from(`sluice edge v1\n${nonce}\n${status}\n${text}`);
    const [signature = ''] = (headers.get(EDGE_SIGNATURE_HEADER) ?? '').split(',');
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: key };
    const publicKey = createPublicKey({ key: jwk, format: 'jwk' });
    return verify(null, signed, publicKey, Buffer.from(signature, 'base64url'));
  }

  it('tokens are made, listed and revoked by the operator (§29.2)', async () => {
    const env = { SLUICE_URL: service.url, ADMIN_TOKEN: 'test-admin-token' };
    const run = (...args: string[]) => runSluiceHere(['edge-token', ...args], env);
    const made = await run('create', '--name', 'west', '--org', tenant.org, '--json');
    const { id, secret, ...rest } = JSON.parse(made.stdout) as Record<string, unknown>;
    expect(rest).toMatchObject({ name: 'west', org: tenant.org, revokedAt: null });
    expect(String(secret)).toMatch(/^sluice-edge_[0-9a-f]{12}_[\w-]{43}\.[\w-]{43}$/);
    expect((await run('list')).stdout).toContain(String(id));
    const revoked = await run('revoke', String(id));
    expect([revoked.code, revoked.stdout]).toEqual([0, expect.stringContaining('revokedAt')]);
    for (const extra of [[], ['--org', tenant.org, '--all']]) {
      const answer = await run('create', '--name', 'x', ...extra);
      expect([answer.code, answer.stderr]).toEqual([2, expect.stringContaining('--all')]);
    }
    const unknown = await admin(service, 'POST', 'edge-tokens/revoke', { id: 'edt_none' });
    expect([unknown.status, unknown.body]).toEqual([404, { error: 'Unknown edge token' }]);
  });

  it('tokens open what edges ask and nothing else, and nothing else opens that (§29.2)', async () => {
    const { id, secret: revoked } = await makeEdgeToken(service);
    await admin(service, 'POST', 'edge-tokens/revoke', { id });
    for (const secret of ['', 'x', tenant.secret, 'test-admin-token', revoked]) {
      const answer = await asEdge(service, secret, 'GET', 'index');
      expect(answer.status, secret).toBe(401);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    }
    const release = await new Tenant(service, { secret: token }).manage('GET', 'releases');
    expect(release.status).toBe(401);
  });

  it.each<[method: string, path: string, body: unknown, status: number, told: string]>([
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
    ['POST', 'snapshot', { known: [], channel: 'none' }, 404, 'Unknown channel'],
    ['GET', 'index?wait=9999', undefined, 400, 'wait: '],
    ['POST', 'snapshot', {}, 400, 'known: '],
    ['POST', 'releases', {}, 400, 'editions: '],
    ['POST', 'offer', { release: 'r' }, 400, 'state: '],
    ['POST', 'labels', { devices: [{ appId: 'a' }] }, 400, 'devices.0.deviceId: '],
    ['GET', 'label-changes?after=x', undefined, 400, 'after: '],
    ['POST', 'check-ins', 'nonsense', 400, 'batches.0: '],
    ['POST', 'check-ins/awaited', 'xx', 400, 'batches.0: '],
    ['POST', 'failures', { failures: 1 }, 400, 'failures: '],
    ['POST', 'ahead', { proof: 'x y', index: '{}' }, 400, 'proof: '],
  ])('%s %s with %j is %d, and signed (§29.3, §29.9)', async (method, path, more, status, says) => {
    const isAbout = ['snapshot', 'releases', 'offer'].includes(path);
    const named = isAbout ? { app: tenant.app, channel: 'stable', ...(more as object) } : more;
    const nonce = randomUUID().replaceAll('-', '');
    const headers = { [EDGE_NONCE_HEADER]: nonce };
    const body = named === undefined ? {} : { body: named };
    const answer = await asEdge(service, token, method, path, { headers, ...body });
    expect(answer.status, answer.text).toBe(status);
    expect(String(answer.body?.kind ?? answer.body?.error)).toMatch(new RegExp(`^${says}`));
    expect([isSigned(answer, nonce), isSigned(answer, 'x'.repeat(32))]).toEqual([true, false]);
  });

  it('nothing is taken of an edge that names another record (§29.10)', async () => {
    const { body: index = {} } = await asEdge(service, token, 'GET', 'index');
    const nonce = 'n'.repeat(32);
    const upload = (record: unknown) => {
      const headers = { [EDGE_RECORD_HEADER]: String(record), [EDGE_NONCE_HEADER]: nonce };
      return asEdge(service, token, 'POST', 'check-ins', { headers, body: '' });
    };
    expect((await upload(index.record)).status).toBe(200);
    const refused = await upload('rec_other');
    const error = 'This service is of another record than the edge follows';
    expect([refused.status, refused.body]).toEqual([409, { error }]);
    expect(isSigned(refused, nonce)).toBe(true);
  });

  it('a body that is said to be too large is 413 (§29.9)', async () => {
    const lines = [`Authorization: Bearer ${token.split('.')[0]}`, `Content-Length: ${10 ** 12}`];
    for (const path of ['check-ins', 'failures']) {
      const [answer] = await exchangeRaw(service, [requestHead(`POST /edge/v1/${path}`, ...lines)]);
      expect([path, answer?.status]).toEqual([path, 413]);
    }
  });

  it('check-ins may be more than fit on a stack (§29.9)', async () => {
    const count = 2 ** 18;
    const networks = Buffer.alloc(count * 8).toString('base64');
    const context = ['app_none', 'stable', 'linux', 'x86_64', 'pull', null];
    const shared = Buffer.from(JSON.stringify([[context], ['1.0.0'], networks]));
    const head = Buffer.from(new Uint32Array([0, shared.length, 2, count]).buffer);
    const body = Buffer.concat([head, Buffer.alloc(count * 12), shared, Buffer.from('[]')]);
    body.writeUInt32LE(body.length - 4);
    const headers = { authorization: `Bearer ${token.split('.')[0]}` };
    const url = `${service.url}/edge/v1/check-ins`;
    const answer = await fetch(url, { method: 'POST', headers, body });
    expect([answer.status, await answer.json()]).toMatchObject([200, { accepted: 0 }]);
  });

  it('an app of another organization is none (§29.2)', async () => {
    const [mine, other] = [await createTenant(service), await createTenant(service)];
    const { secret } = await makeEdgeToken(service, mine.org);
    for (const each of [mine, other]) await told(each);
    const index = await asEdge(service, secret, 'GET', 'index');
    expect([index.text.includes(mine.app), index.text.includes(other.app)]).toEqual([true, false]);
    for (const path of ['snapshot', 'releases', 'offer']) {
      for (const channel of ['stable', 'none']) {
        for (const app of [other.app, other.appId, 'app-none']) {
          const answer = await post(path, { app, channel, ...BODIES[path] }, secret);
          expect([answer.status, answer.body], path).toEqual([404, { error: 'Unknown app' }]);
        }
      }
    }
  });

  it('of devices of another organization nothing is taken, and no labels are told (§29.2)', async () => {
    const [mine, other] = [await createTenant(service), await createTenant(service)];
    const { secret } = await makeEdgeToken(service, mine.org);
    for (const each of [mine, other]) await told(each);
    const device = { deviceId: 'd', version: '1.0.0', platform: 'linux', labels: { site: 'hush' } };
    await other.report([device]);
    const place = { channel: 'stable', deviceId: 'd', canonicalVersion: '1.0.0' };
    const failures = [mine, other].map(({ appId }) => ({ appId, ...place }));
    const half = { accepted: 1, dropped: 1 };
    expect((await post('failures', { failures }, secret)).body).toMatchObject(half);
    const body = new Uint8Array(
      writeCheckIns([mine, other].map(({ appId }) => checkInOf('d', { appId, at: Date.now() }))),
    );
    const headers = { authorization: `Bearer ${secret.split('.')[0]}` };
    for (const [path, said] of [
      ['check-ins', half],
      ['check-ins/awaited', { unadmitted: [[other.appId, 'd']] }],
    ] as const) {
      const answer = await fetch(`${service.url}/edge/v1/${path}`, {
        method: 'POST',
        headers,
        body,
      });
      expect(await answer.json(), path).toMatchObject(said);
    }
    const devices = [{ appId: other.appId, deviceId: 'd' }];
    expect((await post('labels', { devices }, secret)).text).not.toContain('hush');
    const changes = await asEdge(service, secret, 'GET', 'label-changes?after=0');
    expect([changes.status, changes.text.includes('hush')]).toEqual([200, false]);
  });

  it('an index is the same to who has it already, until something changes (§29.3)', async () => {
    const tenant = await createTenant(service);
    await told(tenant);
    // What others do on the node is no change for an edge of this organization.
    const { secret } = await makeEdgeToken(service, tenant.org);
    const first = await asEdge(service, secret, 'GET', 'index');
    const tag = first.headers.get('etag') ?? '';
    expect([first.status, tag]).toEqual([200, `"${String(first.body?.tag)}"`]);
    const nonce = 'n'.repeat(32);
    const headers = { 'if-none-match': tag, [EDGE_NONCE_HEADER]: nonce };
    const same = await asEdge(service, secret, 'GET', 'index', { headers });
    expect([same.status, same.text, isSigned(same, nonce)]).toEqual([304, '', true]);
    const waiting = asEdge(service, secret, 'GET', 'index?wait=5000', { headers });
    await tenant.publish('1.0.0');
    expect((await waiting).status).toBe(200);
  });

  it('an offer is recorded only where devices can be offered it in that state (§29.4)', async () => {
    const tenant = await createTenant(service);
    const { body = {} } = await tenant.publish('1.0.0', { rollout: 0 });
    const release = (body.release as { id: string }).id;
    await told(tenant);
    const { body: index = {} } = await asEdge(service, token, 'GET', 'index');
    const entry = (index.channels as unknown[][]).find(
      ([, app, , channel]) => app === tenant.app && channel === 'stable',
    );
    const state = { epoch: index.epoch, revision: Number(entry?.[4]) };
    const name = { app: tenant.app, channel: 'stable' };
    const offer = async (change: object = {}) =>
      (await post('offer', { ...name, state, release, ...change })).body;
    expect(await offer()).toMatchObject({ isRecorded: false });
    expect(await offer({ release: 'rel_none' })).toMatchObject({ isRecorded: false });
    await tenant.control('1.0.0', { rollout: 50 });
    const present = { ...state, revision: state.revision + 1 };
    expect(await offer()).toMatchObject({ isRecorded: false, revision: present.revision });
    expect(await offer({ state: present })).toMatchObject({ isRecorded: true });
    expect((await tenant.control('1.0.0', { rollout: 10 })).status).toBe(422);
  });

  it('a release is sent once, not to who names its edition, and a megabyte at a time (§29.3, §29.9)', async () => {
    const tenant = await createTenant(service);
    const notes = 'x'.repeat(200 * 1024);
    for (let minor = 0; minor < 7; minor++) {
      expect((await tenant.publish(`1.${minor}.0`, { notes })).status).toBe(201);
    }
    const name = { app: tenant.app, channel: 'stable' };
    const sent: string[] = [];
    const indexes = new Set<unknown>();
    for (const count of [5, 2, 0]) {
      const { body = {} } = await post('snapshot', { ...name, known: sent });
      const editions = Object.keys(body.releases as object);
      expect(editions).toHaveLength(count);
      sent.push(...editions);
      indexes.add(body.index);
    }
    expect([new Set(sent).size, indexes.size]).toEqual([7, 1]);
    const { body = {} } = await post('releases', { ...name, editions: sent.slice(5) });
    expect(Object.keys(body.releases as object).toSorted()).toEqual(sent.slice(5).toSorted());
  });
});
