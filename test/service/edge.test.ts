// Tests an edge beside its service (docs/contract.md 29). What devices ask is tested by the suites of
// `deviceSuite`, which run against an edge as against a node. What an edge does otherwise, all of it:
//
// - It has no management API, no console, no webhooks and no description of the API: 404.
// - A release that no device of its service was offered waits for the service at its first offer.
// - Labels that were told elsewhere count within five seconds.
// - It counts the requests of a device by itself.
// - Check-ins reach the record by way of its journal; new devices are admitted by the service.

import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Diagnosis } from '../../src/contract/diagnosis.ts';
import { writeCheckIns } from '../../src/packing/write-check-ins.ts';
import { describeOnBackends } from '../support/backend.ts';
import { asks, expectLabels, label, OLD, withTargeted } from '../support/device-labels.ts';
import { makeEdgeToken, startEdge } from '../support/edge-node.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { metricsOf } from '../support/metrics.ts';
import type { ServingNode } from '../support/node.ts';
import { runSluice } from '../support/sluice-command.ts';
import {
  admin,
  check,
  control,
  createTenant,
  devicesOf,
  manage,
  publish,
  send,
  type Tenant,
} from '../support/tenant.ts';

const RECORDED_MS_MAX = 5000;
const LABELS_MS_MAX = 5000;
const REQUESTS_PER_MINUTE = 120;
/** What calls about a channel need beside its name. */
const BODIES: Readonly<Record<string, object>> = {
  snapshot: { known: [] },
  releases: { editions: [] },
  offer: { state: { epoch: 0, revision: 1 }, release: 'rel_none' },
};

describeOnBackends('a service and its edge', (backend) => {
  let service: ServingNode;
  let edge: ServingNode;
  let token: { readonly id: string; readonly secret: string };
  beforeAll(async () => {
    service = await backend.start({ SECRET_KEY: 'a key of the tests' });
    token = await makeEdgeToken(service);
    edge = await startEdge(service.url, token.secret);
  });
  afterAll(async () => {
    await edge?.dispose();
    await service?.dispose();
  });

  /** Waits until the edge knows the app as the service has it: `version` is what devices are offered. */
  function served(tenant: Tenant, version: string): Promise<void> {
    return eventually('the edge serves it', async () => {
      return (await check(edge, tenant, '0.9.0')).body?.version === version;
    });
  }

  async function withRelease(version: string): Promise<Tenant> {
    const tenant = await createTenant(service);
    await publish(service, tenant, version);
    await served(tenant, version);
    return tenant;
  }

  /** Calls an endpoint for edges as an edge would. */
  function asEdge(method: string, path: string, body?: unknown, secret = token.secret) {
    const [shown = ''] = secret.split('.');
    return send(service, method, `/edge/v1/${path}`, {
      headers: { authorization: `Bearer ${shown}` },
      ...(body === undefined ? {} : { body }),
    });
  }

  describe('an edge', () => {
    it('has none of what publishers and people ask, and tells how it is (§29.1)', async () => {
      const tenant = await withRelease('1.0.0');
      expect((await manage(edge, tenant, 'GET', 'releases')).status).toBe(404);
      const others = ['/console', '/console/api/session', '/edge/v1/index', '/api/v1/openapi.json'];
      for (const path of others) {
        expect((await send(edge, 'GET', path)).status, path).toBe(404);
      }
      expect((await send(edge, 'POST', `/wh/github/${tenant.app}`)).status).toBe(404);
      expect((await send(edge, 'GET', '/healthz')).body).toEqual({ status: 'ok' });
      expect((await send(edge, 'GET', '/readyz')).body).toEqual({ status: 'ready' });
      expect(await metricsOf(edge)).toContain('sluice_store_up{store="upstream"} 1');
    });

    it('brings its devices to the record, with what they said (§29.5)', async () => {
      const tenant = await withRelease('1.0.0');
      await check(edge, tenant, '0.9.0', { device: 'd', query: 'l.site=a' });
      await expect
        .poll(() => devicesOf(service, tenant), { timeout: RECORDED_MS_MAX })
        .toMatchObject([
          {
            ...{ deviceId: 'd', version: '0.9.0', platform: 'linux', arch: 'x86_64' },
            ...{ labels: { site: 'a' }, lastOffered: { version: '1.0.0' } },
          },
        ]);
      const path = `/u/${tenant.app}/stable/linux/x86_64/0.9.0/failure`;
      const headers = { 'x-service-device': 'd' };
      const failure = await send(edge, 'POST', path, { headers, body: { version: '1.0.0' } });
      expect(failure.status).toBe(204);
    });

    it('puts a first offer on record before it makes it (§29.4)', async () => {
      const tenant = await createTenant(service);
      await publish(service, tenant, '1.0.0', { rollout: 100 });
      await served(tenant, '1.0.0');
      const narrowed = await control(service, tenant, '1.0.0', { rollout: 10 });
      expect(narrowed.status).toBe(422);
    });

    it('knows of an offer that another client of the service was made first (§29.4)', async () => {
      const tenant = await withRelease('1.0.0');
      await publish(service, tenant, '2.0.0');
      await check(service, tenant, '0.9.0');
      await served(tenant, '2.0.0');
      expect((await control(service, tenant, '2.0.0', { rollout: 10 })).status).toBe(422);
    });

    it('counts the requests of a device by itself (§29.8)', async () => {
      const tenant = await withRelease('1.0.0');
      const device = randomUUID();
      for (let count = 0; count < REQUESTS_PER_MINUTE; count++) {
        expect((await check(edge, tenant, '1.0.0', { device })).status).toBe(204);
      }
      expect((await check(edge, tenant, '1.0.0', { device })).status).toBe(429);
      expect((await check(service, tenant, '1.0.0', { device })).status).toBe(204);
    });
  });

  it('gets a channel of many megabytes in parts (§29.9)', { timeout: 60_000 }, async () => {
    const tenant = await createTenant(service);
    const notes = 'x'.repeat(200 * 1024);
    for (let minor = 0; minor < 20; minor++) {
      const answer = await publish(service, tenant, `1.${minor}.0`, { notes });
      expect(answer.status, answer.text).toBe(201);
    }
    await served(tenant, '1.19.0');
    const first = await asEdge('POST', 'snapshot', {
      ...{ app: tenant.app, channel: 'stable', known: [] },
    });
    expect(Object.keys(first.body?.releases as object)).toHaveLength(5);
    const feed = await send(edge, 'GET', `/feed/${tenant.app}/stable`);
    expect(feed.body?.releases).toHaveLength(20);
  });

  describe('labels of its devices', () => {
    it('that a check carries decide at once, and are on record (§29.7)', async () => {
      const tenant = await withTargeted(service);
      await eventually('the edge serves it', async () => {
        return (await check(edge, tenant, OLD, { query: 'l.ring=inner' })).status === 200;
      });
      const device = randomUUID();
      expect(await asks(edge, tenant, { device })).toBe(false);
      expect(await asks(edge, tenant, { device, query: 'l.ring=inner' })).toBe(true);
      expect(await asks(edge, tenant, { device })).toBe(true);
      await expectLabels(service, tenant, { ring: 'inner' });
    });

    it('that were told to the service decide within five seconds (§29.7)', async () => {
      const tenant = await withTargeted(service);
      await eventually('the edge serves it', async () => {
        return (await check(edge, tenant, OLD, { query: 'l.ring=inner' })).status === 200;
      });
      await label(service, tenant, 'd', { ring: 'inner' });
      expect(await asks(edge, tenant, { device: 'd' })).toBe(true);
      for (const ring of ['outer', 'inner', 'outer']) {
        await label(service, tenant, 'd', { ring });
        const isThere = async () => {
          await sleep(100);
          return (await asks(edge, tenant, { device: 'd' })) === (ring === 'inner');
        };
        await eventually(`${ring} decides`, isThere, LABELS_MS_MAX);
      }
    });
  });

  describe('sluice doctor', () => {
    async function doctor(settings: Record<string, string>) {
      const env = { DATA_DIR: edge.dataDir, EDGE_UPSTREAM: service.url, ...settings };
      const { stdout } = await runSluice(['doctor', '--json'], env);
      const { checks } = JSON.parse(stdout) as Diagnosis;
      expect(stdout).not.toContain(token.secret);
      return checks.filter(({ ok }) => !ok).map(({ name, message }) => `${name}: ${message}`);
    }

    it('finds an edge well, and says what is wrong with another (Edges)', async () => {
      expect(await doctor({ EDGE_TOKEN: token.secret })).toEqual([]);
      expect(await doctor({})).toEqual(['edge-token: EDGE_TOKEN is not set']);
      expect(await doctor({ EDGE_TOKEN: 'x' })).toEqual([
        expect.stringMatching(/^edge-token: is not what/),
      ]);
      const revoked = await makeEdgeToken(service);
      await admin(service, 'POST', 'edge-tokens/revoke', { id: revoked.id });
      expect(await doctor({ EDGE_TOKEN: revoked.secret })).toEqual([
        expect.stringMatching(/^upstream: it does not accept EDGE_TOKEN/),
      ]);
      const [secret = ''] = token.secret.split('.');
      const otherKey = `${secret}.${generateKeyPairSync('ed25519')
        .publicKey.export({ format: 'der', type: 'spki' })
        .subarray(-32)
        .toString('base64url')}`;
      expect(await doctor({ EDGE_TOKEN: otherKey })).toEqual([
        expect.stringMatching(/^upstream: its answer is signed with another key/),
      ]);
      const away = { EDGE_UPSTREAM: 'http://127.0.0.1:1', EDGE_TOKEN: token.secret };
      expect(await doctor(away)).toEqual([expect.stringMatching(/^upstream: .*ECONNREFUSED/)]);
    });
  });

  describe('tokens of edges', () => {
    it('are made, listed and revoked by the operator alone (§29.2)', async () => {
      const tenant = await createTenant(service);
      const env = { SLUICE_URL: service.url, ADMIN_TOKEN: 'test-admin-token' };
      const args = ['edge-token', 'create', '--name', 'west', '--org', tenant.org, '--json'];
      const made = await runSluice(args, env);
      const { id, secret, ...rest } = JSON.parse(made.stdout) as Record<string, unknown>;
      expect(rest).toMatchObject({ name: 'west', org: tenant.org, revokedAt: null });
      expect(String(secret)).toMatch(/^sluice-edge_[0-9a-f]{12}_[\w-]{43}\.[\w-]{43}$/);
      expect((await runSluice(['edge-token', 'list'], env)).stdout).toContain(String(id));
      const revoked = await runSluice(['edge-token', 'revoke', String(id)], env);
      expect([revoked.code, revoked.stdout]).toEqual([0, expect.stringContaining('revokedAt')]);
      for (const extra of [[], ['--org', tenant.org, '--all']]) {
        const answer = await runSluice(['edge-token', 'create', '--name', 'x', ...extra], env);
        expect([answer.code, answer.stderr]).toEqual([2, expect.stringContaining('--all')]);
      }
      const unknown = await admin(service, 'POST', 'edge-tokens/revoke', { id: 'edt_none' });
      expect([unknown.status, unknown.body]).toEqual([404, { error: 'Unknown edge token' }]);
      const headers = { authorization: `Bearer ${tenant.secret}` };
      const withKey = await send(service, 'GET', '/console/api/edge-tokens', { headers });
      expect(withKey.status).toBe(401);
    });

    it('that are revoked while their edge waits get nothing new (§29.2)', async () => {
      const { id, secret } = await makeEdgeToken(service);
      const [shown = ''] = secret.split('.');
      const tag = (await asEdge('GET', 'index', undefined, secret)).headers.get('etag') ?? '';
      await admin(service, 'POST', 'edge-tokens/revoke', { id });
      await sleep(3000);
      const headers = { authorization: `Bearer ${shown}`, 'if-none-match': tag };
      const waiting = send(service, 'GET', '/edge/v1/index?wait=5000', { headers });
      await sleep(2000);
      await createTenant(service);
      expect((await waiting).status).toBe(401);
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
      ];
      for (const [method, path, body, field] of bad) {
        const answer = await asEdge(method, path, body);
        expect([path, answer.status], answer.text).toEqual([path, 400]);
        expect(answer.body?.error, path).toMatch(new RegExp(`^${field}: `));
      }
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
      const handOver = async (offeredReleaseId: string | undefined) => {
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
      await handOver(undefined);
      await eventually('it is on record', async () => (await devicesOf(service, mine)).length > 0);
      const releaseOf = async (tenant: Tenant) => {
        const { body = {} } = await publish(service, tenant, '1.0.0');
        return (body.release as { id: string }).id;
      };
      const releases = [await releaseOf(other), await releaseOf(mine)];
      for (const release of releases) await handOver(release);
      const offeredOf = async (tenant: Tenant) => {
        const name = `app=${tenant.app}&channel=stable&version=1.0.0&knownForMinutes=0`;
        const { body = {} } = await manage(service, tenant, 'GET', `releases/health?${name}`);
        return (body.health as { offered: number }).offered;
      };
      await eventually('its own counts', async () => (await offeredOf(mine)) === 1);
      expect(await offeredOf(other)).toBe(0);
    });

    it('is the same to who has it already, until something changes (§29.3)', async () => {
      const first = await asEdge('GET', 'index');
      const tag = first.headers.get('etag') ?? '';
      expect([first.status, tag]).toEqual([200, `"${String(first.body?.tag)}"`]);
      const [shown = ''] = token.secret.split('.');
      const headers = { authorization: `Bearer ${shown}`, 'if-none-match': tag };
      const same = await send(service, 'GET', '/edge/v1/index', { headers });
      expect([same.status, same.text]).toEqual([304, '']);
      const waiting = send(service, 'GET', '/edge/v1/index?wait=5000', { headers });
      await createTenant(service);
      expect((await waiting).status).toBe(200);
    });

    it('offers only what devices can be offered in that state (§29.4)', async () => {
      const tenant = await createTenant(service);
      const { body = {} } = await publish(service, tenant, '1.0.0', { rollout: 0 });
      const release = (body.release as { id: string }).id;
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
      // The process that is asked hears of the change a moment after it was made.
      await expect
        .poll(async () => (await offer()).body)
        .toMatchObject({ isRecorded: false, revision });
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
