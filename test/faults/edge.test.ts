// Tests an edge without its service (docs/contract.md 29): what it offers, what its devices tell it
// meanwhile, and what it says of an upstream that refuses it or that it cannot trust.

import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Diagnosis } from '../../src/contract/store-fault.ts';
import {
  describeOnBackends,
  describeOnRealStores,
  realStores,
  suiteNode,
} from '../support/backend.ts';
import { asks, expectLabels, OLD, withTargeted } from '../support/device-labels.ts';
import {
  arrives,
  makeEdgeToken,
  offeredBy,
  portOf,
  startEdge,
  startEdgeOnAWay,
} from '../support/edge-node.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { metricsOf } from '../support/metrics.ts';
import { findOpenssl, makeCertificate } from '../support/nginx-front.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { endWithSuite, own } from '../support/own.ts';
import { storesOn } from '../support/real-node.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';
import { runSluice } from '../support/sluice-command.ts';
import type { NetworkProxy } from '../support/tcp-proxy.ts';
import { admin, createTenant, send } from '../support/tenant.ts';

const openssl = findOpenssl();
const skipped = openssl === undefined ? ' (skipped: no openssl on this machine)' : '';

describeOnBackends('an edge without its service', (backend) => {
  const service = suiteNode(() => backend.start({ SECRET_KEY: 'a key of the tests' }));
  let token: { readonly id: string; readonly secret: string };
  let edge: ServingNode;
  let way: NetworkProxy;

  beforeAll(async () => {
    token = await makeEdgeToken(service);
    ({ edge, way } = await startEdgeOnAWay(service, token.secret));
  });
  afterEach(() => way.heal());
  endWithSuite(() => [edge, way]);

  const withRelease = () => createTenant(service, ['1.0.0']);

  async function restartKilled(): Promise<void> {
    await edge.kill();
    edge = await edge.restart();
  }

  it('offers what was offered before, after kill -9 from its disk, and is 503 else (§29.4, §29.6)', async () => {
    const [asked, loaded, unasked] = [
      await withRelease(),
      await withRelease(),
      await withRelease(),
    ];
    await arrives(edge, asked, '1.0.0');
    await eventually('it has loaded a channel of which nothing was offered', async () => {
      return (await loaded.at(edge).check('1.0.0')).status === 204;
    });
    await eventually('its disk has both channels, and names the third', () => {
      const folder = join(edge.dataDir, 'edge');
      const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
      const isThere = names.filter((name) => name.endsWith('.json')).length > 1;
      return isThere && readFileSync(join(folder, 'followed'), 'utf8').includes(unasked.app);
    });
    way.blackhole();
    way.cut();
    for (const isRestarted of [false, true]) {
      if (isRestarted) await restartKilled();
      const offers = [asked, loaded, unasked].map((tenant) => offeredBy(edge, tenant));
      expect(await Promise.all(offers)).toEqual(['1.0.0', 503, 503]);
    }
    way.heal();
    await arrives(edge, loaded, '1.0.0');
  });

  it('decides by the labels that its devices send, and records the last ones after it (§29.7)', async () => {
    const tenant = await withTargeted(service);
    const send = (ring: string, battery: number) =>
      asks(tenant.at(edge), { device: 'a', query: `l.ring=${ring}&l.battery=${battery}` });
    await eventually('the edge offers the release', async () => {
      // 404 at first: the edge hears of the app a moment later.
      return (await tenant.at(edge).check(OLD, { query: 'l.ring=inner' })).status === 200;
    });
    expect(await send('inner', 10)).toBe(true);
    // A device that was not known to be on record is, before its answer.
    expect(await tenant.deviceIds()).toContain('a');
    way.blackhole();
    for (let battery = 9; battery > 2; battery--) {
      const ring = battery % 2 === 0 ? 'inner' : 'outer';
      expect(await send(ring, battery)).toBe(ring === 'inner');
      expect(await asks(tenant.at(edge), { device: 'a' })).toBe(ring === 'inner');
    }
    expect(await send('outer', 1)).toBe(false);
    way.heal();
    await expectLabels(tenant, { ring: 'outer', battery: '1' });
    expect(await asks(tenant.at(edge), { device: 'a' })).toBe(false);
  });

  it('keeps failures through its kill; they count after it, once for each device (§29.5)', async () => {
    const tenant = await createTenant(service);
    const ids = ['a', 'b', 'c'];
    const devices = ids.map((deviceId) => ({ deviceId, version: '0.9.0', platform: 'linux' }));
    await tenant.report(devices);
    await tenant.publish('1.0.0');
    await arrives(edge, tenant, '1.0.0');
    way.blackhole();
    way.cut();
    const path = `/u/${tenant.app}/stable/linux/x86_64/0.9.0/failure`;
    for (const device of [...ids, ...ids]) {
      expect((await tenant.at(edge).check('0.9.0', { device })).status).toBe(200);
      const headers = { 'x-service-device': device };
      const body = { version: '1.0.0', reason: 'disk full' };
      expect((await send(edge, 'POST', path, { headers, body })).status).toBe(204);
    }
    await eventually('the offers are on the disk of the edge, as the failures are', async () => {
      return (await metricsOf(edge)).includes('sluice_check_ins_held 0\n');
    });
    await restartKilled();
    way.heal();
    const query = `app=${tenant.app}&channel=stable&version=1.0.0&knownForMinutes=0`;
    const counted = async () =>
      (await tenant.manage('GET', `releases/health?${query}`)).body?.health;
    // One more was offered it: the device that asked whether it had arrived.
    await expect.poll(counted).toMatchObject({ failed: ids.length });
  });

  it('brings no device back from its journal that was erased meanwhile (§4.23)', async () => {
    const tenant = await withRelease();
    await tenant.report([{ deviceId: 'erased', version: '0.9.0', platform: 'linux' }]);
    await arrives(edge, tenant, '1.0.0');
    const checkAt = async (device: string) =>
      expect((await tenant.at(edge).check('0.9.0', { device })).status).toBe(200);
    way.blackhole();
    for (let index = 0; index < 5; index++) await checkAt('erased');
    const path = `devices/erased?app=${tenant.app}`;
    expect((await tenant.manage('DELETE', path)).status).toBe(204);
    // As many as reach every stream of the queue, behind the check-ins of the erased device.
    const later = Array.from({ length: 100 }, (_, index) => `later-${index}`);
    for (const device of later) await checkAt(device);
    way.heal();
    await tenant.untilRecorded(...later);
    expect(await tenant.deviceIds()).not.toContain('erased');
    await checkAt('erased');
    await tenant.untilRecorded('erased');
  });

  it('that refuses its token says that, and since when, and stays ready (§29.2, §29.11)', async () => {
    const tenant = await withRelease();
    await arrives(edge, tenant, '1.0.0');
    const before = Date.now();
    await admin(service, 'POST', 'edge-tokens/revoke', { id: token.id });
    const refused = /cannot be followed, .* last: it refuses the token of this edge since (\S+)$/;
    const since = async () => {
      const { status, body } = await send(edge, 'GET', '/readyz');
      expect(status).toBe(200);
      const [{ message = '' } = {}] = (body?.degraded ?? []) as { message?: string }[];
      return Date.parse(refused.exec(message)?.[1] ?? '');
    };
    await eventually('it says so', async () => !Number.isNaN(await since()));
    expect([(await since()) >= before, (await since()) <= Date.now()]).toEqual([true, true]);
    const told = edge.output().match(/the upstream refuses the token of this edge/g);
    expect(told).toHaveLength(1);
    expect(await offeredBy(edge, tenant)).toBe('1.0.0');
  });

  describe.skipIf(openssl === undefined)(`of a private authority${skipped}`, () => {
    const folder = temporaryFolder('sluice-authority-');
    const [certificate, key] = [join(folder, 'cert.pem'), join(folder, 'cert.key')];
    const endings: (() => unknown)[] = [];
    let url: string;

    beforeAll(async () => {
      makeCertificate(openssl ?? '', folder);
      const options = { cert: readFileSync(certificate), key: readFileSync(key) };
      const server = createServer(options, (client) => {
        const onward = connect(portOf(service), '127.0.0.1');
        client.on('error', () => onward.destroy()).pipe(onward);
        onward.on('error', () => client.destroy()).pipe(client);
        onward.on('close', () => client.destroy());
      });
      server.on('tlsClientError', () => undefined);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      endings.push(() => server.close());
      url = `https://localhost:${(server.address() as { port: number }).port}`;
    });
    afterAll(async () => {
      for (const end of endings.reverse()) await end();
      removeFolder(folder);
    });

    it.each([
      ['is trusted where NODE_EXTRA_CA_CERTS names it', { NODE_EXTRA_CA_CERTS: certificate }, true],
      ['else is not, and the edge says why, without an address', {}, false],
    ])('%s; so says the doctor', async (_, settings, isTrusted) => {
      const { secret } = await makeEdgeToken(service);
      const asked = own(await startEdge(url, secret, settings));
      const told = async () => {
        const { status, body } = await send(asked, 'GET', '/readyz');
        const [{ message = '' } = {}] = (body?.degraded ?? []) as { message?: string }[];
        return [status, body?.error, message];
      };
      const nothing = 'the upstream cannot be reached and nothing is known without it';
      const why = expect.stringMatching(/SELF_SIGNED/);
      await expect.poll(told).toEqual(isTrusted ? [200, undefined, ''] : [503, nothing, why]);
      expect((await told()).join()).not.toMatch(/127\.0\.0\.1|localhost/);
      const env = { DATA_DIR: asked.dataDir, EDGE_TOKEN: secret, ...settings };
      const { stdout } = await runSluice(['doctor', '--json', '--upstream', url], env);
      const { checks } = JSON.parse(stdout) as Diagnosis;
      const message = isTrusted ? expect.stringContaining('answers') : why;
      expect(checks.find(({ name }) => name === 'upstream')).toMatchObject({
        ...{ ok: isTrusted, message },
      });
    });
  });
});

/** Longer than an edge waits at least for its service to record what it has uploaded. */
const LOCKED_MS = 8000;

describeOnRealStores('an edge whose service cannot record', () => {
  it('decides by what its device sent until the service has recorded it (§29.7)', async () => {
    const stores = own(await storesOn(realStores()?.postgresUrl ?? ''));
    const service = own(await startNode({ ...stores.settings, SECRET_KEY: 'a key of the tests' }));
    const { edge, way } = await startEdgeOnAWay(service);
    own(way);
    own(edge);
    const tenant = await withTargeted(service);
    await eventually('the edge offers the release', async () => {
      return (await tenant.at(edge).check(OLD, { query: 'l.ring=inner' })).status === 200;
    });
    const edgeOffers = (query = '') => asks(tenant.at(edge), { device: 'a', query });
    expect(await edgeOffers('l.ring=inner')).toBe(true);
    const lock = new pg.Client({ connectionString: stores.settings.DATABASE_URL });
    await lock.connect();
    // The database is dropped under it when the test fails.
    lock.on('error', () => undefined);
    await lock.query('BEGIN; LOCK TABLE devices IN SHARE MODE');
    expect(await edgeOffers('l.ring=outer')).toBe(false);
    for (const end = performance.now() + LOCKED_MS; performance.now() < end; await sleep(250)) {
      expect(await edgeOffers()).toBe(false);
    }
    await expectLabels(tenant, { ring: 'inner' });
    await lock.end();
    await expectLabels(tenant, { ring: 'outer' });
    expect(await edgeOffers()).toBe(false);
  });
});
