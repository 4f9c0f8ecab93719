// Tests an edge beside its service (docs/contract.md 29). What devices ask is tested by the suites of
// `deviceSuite`, which run against an edge as against a node. What an edge does otherwise, all of it:
//
// - It has no management API, no console, no webhooks and no description of the API, and cannot be followed
//   itself: 404.
// - A release that no device of its service was offered waits for the service at its first offer.
// - Labels that were told elsewhere count within five seconds.
// - It counts the requests of a device by itself.
// - Check-ins reach the record by way of its journal; new devices are admitted by the service.
//
// One answer of each kind is the service's own. Failures of an edge, its service and the way between them are
// tested in test/faults, how soon changes arrive in test/timed.

import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Diagnosis } from '../../src/contract/store-fault.ts';
import { describeOnBackends, suiteNode } from '../support/backend.ts';
import { asks, expectLabels, label, OLD, withTargeted } from '../support/device-labels.ts';
import { arrives, makeEdgeToken, startEdge } from '../support/edge-node.ts';
import { eventually } from '../support/eventually.ts';
import { metricsOf } from '../support/metrics.ts';
import type { ServingNode } from '../support/node.ts';
import { endWithSuite } from '../support/own.ts';
import { runSluice } from '../support/sluice-command.ts';
import { ARTIFACT, admin, createTenant, send, type Tenant } from '../support/tenant.ts';

const REQUESTS_PER_MINUTE = 120;
/** What devices ask, below an app with 1.0.0 on stable, and the status of the answer. */
const OF_DEVICES: readonly (readonly [path: string, status: number])[] = [
  ['u/{app}/stable/linux/x86_64/0.9.0', 200],
  ['u/{id}/stable/linux/x86_64/0.9.0', 200],
  ['u/{app}/stable/linux/x86_64/1.0.0', 204],
  ['u/{app}/stable/windows/x86_64/0.9.0', 204],
  ['u/{app}/stable/linux/x86_64/0.9.0?l.ring=inner', 200],
  ['u/{app}/beta/linux/x86_64/0.9.0', 204],
  ['u/{app}/none/linux/x86_64/0.9.0', 404],
  ['u/nobody/stable/linux/x86_64/0.9.0', 404],
  ['u/{app}/stable/linux/x86_64/x', 400],
  ['u/{app}/stable/linux/x86_64/0.9.0?l.=x', 400],
  ['e/{app}/stable/latest-linux.yml', 200],
  ['e/{app}/stable/latest-mac.yml', 404],
  ['squirrel/{app}/stable/win32-x64/0.9.0/RELEASES', 200],
  ['velopack/{app}/stable/releases.win.json', 200],
  ['velopack/{app}/stable/releases.none.json', 404],
  ['sparkle/{app}/stable/appcast.xml', 200],
  ['download/{app}/stable/linux/x86_64', 302],
  ['download/{app}/stable/windows/x86_64', 404],
  ['feed/{app}/stable', 200],
  ['feed/{app}/stable/rss.xml', 200],
  ['feed/{app}/none', 404],
];
/** What an edge has not (§29.1), whatever the key. */
const NOT_OF_EDGES: readonly (readonly [method: string, path: string])[] = [
  ...['releases', 'apps', 'releases/health', 'openapi.json'].map((path) => {
    return ['GET', `api/v1/${path}`] as const;
  }),
  ['POST', 'api/v1/fleet/report'],
  ...['', '/apps', '/api/session', '/api/apps'].map((path) => ['GET', `console${path}`] as const),
  ['POST', 'wh/github/{app}'],
  ...['index', 'time', 'label-changes'].map((path) => ['GET', `edge/v1/${path}`] as const),
  ...['snapshot', 'offer', 'check-ins'].map((path) => ['POST', `edge/v1/${path}`] as const),
  ['GET', 'docs'],
];
describeOnBackends('an edge of a service', (backend) => {
  const service = suiteNode(() => backend.start({ SECRET_KEY: 'a key of the tests' }));
  let edge: ServingNode;
  let token: { readonly id: string; readonly secret: string };
  beforeAll(async () => {
    token = await makeEdgeToken(service);
    // Feeds name the address by which they are read.
    edge = await startEdge(service.url, token.secret, { PUBLIC_URL: service.url });
  });
  endWithSuite(() => [edge]);

  async function withRelease(more: object = {}): Promise<Tenant> {
    const tenant = await createTenant(service, ['1.0.0', { ...more }]);
    await arrives(edge, tenant, '1.0.0');
    return tenant;
  }

  describe('answers what devices ask as its service does (§29.1)', () => {
    let tenant: Tenant;
    beforeAll(async () => {
      const url = 'https://downloads.example.com/app.AppImage';
      const artifacts = [{ ...ARTIFACT, url, sha512: 'x', size: 1234 }];
      tenant = await withRelease({ artifacts, notes: 'Good **news**' });
    });

    it.each(OF_DEVICES)('%s: %d', async (path, status) => {
      const named = path.replace('{app}', tenant.app).replace('{id}', tenant.appId);
      const answers = [service, edge].map(async ({ url }) => {
        const headers = { 'x-service-device': `of ${url}` };
        const answer = await fetch(`${url}/${named}`, { redirect: 'manual', headers });
        const told = ['content-type', 'location', 'etag', 'cache-control'];
        return [
          answer.status,
          await answer.text(),
          ...told.map((name) => answer.headers.get(name)),
        ];
      });
      const [ofService, ofEdge] = await Promise.all(answers);
      expect(ofEdge).toEqual(ofService);
      expect(ofEdge?.[0]).toBe(status);
    });

    it.each(NOT_OF_EDGES)('and has no %s /%s', async (method, path) => {
      const headers = { authorization: `Bearer ${tenant.secret}` };
      const named = `/${path.replace('{app}', tenant.app)}`;
      expect((await send(edge, method, named, { headers })).status).toBe(404);
    });
  });

  it('tells how it is (§29.1)', async () => {
    expect((await send(edge, 'GET', '/healthz')).body).toEqual({ status: 'ok' });
    expect((await send(edge, 'GET', '/readyz')).body).toEqual({ status: 'ready' });
    expect(await metricsOf(edge)).toContain('sluice_store_up{store="upstream"} 1');
  });

  it('brings its devices to the record, with what they said (§29.5)', async () => {
    const tenant = await createTenant(service, ['1.0.0']);
    await eventually('the edge knows the app', async () => {
      return (
        (await tenant.at(edge).check('0.9.0', { device: 'd', query: 'l.site=a' })).status === 200
      );
    });
    await expect
      .poll(() => tenant.devices())
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
    const tenant = await withRelease({ rollout: 100 });
    expect((await tenant.control('1.0.0', { rollout: 10 })).status).toBe(422);
  });

  it('counts the requests of a device by itself (§29.8)', async () => {
    const tenant = await withRelease();
    const device = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: REQUESTS_PER_MINUTE }, () => tenant.at(edge).check('1.0.0', { device })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]));
    expect((await tenant.at(edge).check('1.0.0', { device })).status).toBe(429);
    expect((await tenant.check('1.0.0', { device })).status).toBe(204);
  });

  it('decides by the labels of a check at once, which are on record, and by others soon (§29.7)', async () => {
    const tenant = await withTargeted(service);
    const device = 'd';
    const query = 'l.ring=inner';
    await eventually('the edge serves it', async () => {
      return (await tenant.at(edge).check(OLD, { query })).status === 200;
    });
    expect(await asks(tenant.at(edge), { device })).toBe(false);
    expect(await asks(tenant.at(edge), { device, query })).toBe(true);
    expect(await asks(tenant.at(edge), { device })).toBe(true);
    await expectLabels(tenant, { ring: 'inner' });
    await label(tenant, device, { ring: 'outer' });
    await eventually('they decide', async () => !(await asks(tenant.at(edge), { device })));
    // Of a device that the edge does not know it asks.
    await label(tenant, 'other', { ring: 'inner' });
    expect(await asks(tenant.at(edge), { device: 'other' })).toBe(true);
  });

  it('is examined by the doctor, who says what is wrong with another (Edges)', async () => {
    const doctor = async (settings: Record<string, string>) => {
      const env = { DATA_DIR: edge.dataDir, EDGE_UPSTREAM: service.url, PORT: '0', ...settings };
      const { stdout } = await runSluice(['doctor', '--json'], env);
      expect(stdout).not.toContain(token.secret);
      const { checks } = JSON.parse(stdout) as Diagnosis;
      return checks.filter(({ ok }) => !ok).map(({ name, message }) => `${name}: ${message}`);
    };
    const revoked = await makeEdgeToken(service);
    await admin(service, 'POST', 'edge-tokens/revoke', { id: revoked.id });
    const [secret = ''] = token.secret.split('.');
    const { publicKey } = generateKeyPairSync('ed25519');
    const otherKey = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
    const found = await Promise.all(
      [token.secret, '', 'x', revoked.secret, `${secret}.${otherKey.toString('base64url')}`].map(
        (EDGE_TOKEN) => doctor({ EDGE_TOKEN }),
      ),
    );
    expect(found).toEqual([
      [],
      ['edge-token: EDGE_TOKEN is not set'],
      [expect.stringMatching(/^edge-token: is not what/)],
      [expect.stringMatching(/^upstream: it does not accept EDGE_TOKEN/)],
      [expect.stringMatching(/^upstream: its answer is signed with another key/)],
    ]);
  });
});
