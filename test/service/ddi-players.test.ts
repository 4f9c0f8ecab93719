// Tests that rauc-hawkbit-updater and Zephyr, as players that take only what those take, install a release,
// tell a failure, cancel, and are left alone after a success (docs/contract.md 34).

import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { DdiDevice } from '../support/ddi-device.ts';
import { eventually } from '../support/eventually.ts';
import { loopbackServer } from '../support/loopback-server.ts';
import { RaucPlayer } from '../support/rauc-player.ts';
import { serviceSuite, testTenant } from '../support/service-suite.ts';
import { type Json, randomId } from '../support/tenant.ts';
import { ZephyrPlayer } from '../support/zephyr-player.ts';

const FILE = 'an image';
/** Format of what rauc-hawkbit-updater installs, and a file without a known one. */
const [BUNDLE, IMAGE] = ['image.raucb', 'image.bin'];
const sum = (algorithm: string) => createHash(algorithm).update(FILE).digest('hex');

serviceSuite('players of DDI clients', (node) => {
  const tenant = testTenant(node);
  let id: string;
  let front: Awaited<ReturnType<typeof startFront>>;

  beforeAll(async () => {
    front = await startFront(node.url);
  });
  afterAll(() => front.close());
  beforeEach(async () => {
    id = `d-${randomId()}`;
    await tenant.openDdi({ unknownVersion: 'offer' });
    const any = new DdiDevice(node, tenant.app, `d-${randomId()}`);
    await eventually('the channel answers DDI', async () => (await any.ask('GET')).status === 200);
  });

  const publish = (version: string, name: string, more: Json = {}) => {
    const url = `http://${front.host}/files/${name}`;
    const sums = { sha1: sum('sha1'), sha256: sum('sha256') };
    const artifact = { platform: 'linux', url, size: FILE.length, ...sums, ...more };
    return tenant.release(version, { artifacts: [artifact] });
  };
  const pause = () => tenant.serve('2.0.0', { status: 'paused' });

  function rauc(device: Record<string, string> = { version: '1.0.0' }): RaucPlayer {
    const server = `${front.host}/ddi/${tenant.app}`;
    const never = () => Promise.reject(new Error('feedback was refused'));
    return new RaucPlayer({ server, tenant: 'stable', target: id, device, pause: never });
  }
  function zephyr(more: { machine?: string; losesDigit?: boolean } = {}): ZephyrPlayer {
    const { machine = '', losesDigit = false } = more;
    const place = `ddi/${tenant.app}/stable${machine}`;
    return new ZephyrPlayer({ server: front.host, tenant: place, deviceId: id, losesDigit });
  }

  it('rauc-hawkbit-updater installs a release, and is left alone', async () => {
    await publish('2.0.0', BUNDLE);
    const client = rauc();
    expect(await client.poll()).toEqual(['identified']);
    expect(await client.poll()).toEqual(['started']);
    expect(await client.poll()).toEqual([]);
    expect(await client.download()).toBe(true);
    await client.install();
    // It would install whatever is listed once more.
    expect(await client.poll()).toEqual([]);
    expect(await rauc({ version: '2.0.0' }).poll()).toEqual([]);
  });

  it('rauc-hawkbit-updater tells a failure, and does not get the release again', async () => {
    await publish('2.0.0', BUNDLE, { sha1: 'a'.repeat(40) });
    const client = rauc();
    await client.poll();
    expect(await client.poll()).toEqual(['started']);
    expect(await client.download()).toBe(false);
    expect(await client.poll()).toEqual([]);
    await publish('2.1.0', BUNDLE);
    await eventually('a higher release is tried', async () =>
      (await client.poll()).includes('started'),
    );
    await client.download();
    await client.install(false);
    expect(await client.poll()).toEqual([]);
  });

  it('rauc-hawkbit-updater gives up a download that is withdrawn', async () => {
    await publish('2.0.0', BUNDLE);
    const client = rauc();
    await client.poll();
    expect(await client.poll()).toEqual(['started']);
    await pause();
    await eventually('it cancels', async () => (await client.poll()).includes('cancelled'));
    expect(await client.poll()).toEqual([]);
  });

  it('rauc-hawkbit-updater ends an installation that is withdrawn, which counts', async () => {
    await publish('2.0.0', BUNDLE);
    const client = rauc();
    await client.poll();
    await client.poll();
    await client.download();
    await pause();
    await eventually('it refuses', async () => (await client.poll()).includes('rejected'));
    await client.install();
    await tenant.serve('2.0.0', { status: 'published' });
    const other = new DdiDevice(node, tenant.app, `d-${randomId()}`);
    await other.tell({ version: '1.0.0' });
    await eventually('others get it again', async () => {
      return (await other.poll()).deployment !== undefined;
    });
    expect(await client.poll()).toEqual([]);
  });

  it('Zephyr installs a release, confirms it after the restart, and is left alone', async () => {
    await publish('2.0.0', IMAGE);
    const client = zephyr();
    expect(await client.poll()).toEqual(['identified', 'installed']);
    expect(await client.restarted().poll()).toEqual(['confirmed']);
    expect(await client.restarted().poll()).toEqual([]);
  });

  it('Zephyr with its version in the address needs to confirm nothing', async () => {
    await publish('2.0.0', IMAGE);
    const client = zephyr({ machine: '/linux/armv7/1.0.0' });
    expect(await client.poll()).toEqual(['identified', 'installed']);
    const place = `ddi/${tenant.app}/stable/linux/armv7/2.0.0`;
    expect(await client.restarted({ tenant: place }).poll()).toEqual([]);
  });

  it('Zephyr tells no failure, and tries again until the release is withdrawn', async () => {
    await publish('2.0.0', IMAGE, { sha256: 'b'.repeat(64) });
    const client = zephyr();
    expect(await client.poll()).toEqual(['identified', 'failed']);
    expect(await client.poll()).toEqual(['failed']);
    await pause();
    await eventually('it cancels', async () => (await client.poll()).includes('cancelled'));
    expect(await client.poll()).toEqual([]);
  });

  it('Zephyr that loses a digit of the id is answered, and its action stays as it is', async () => {
    await publish('2.0.0', IMAGE, { sha256: 'b'.repeat(64) });
    const client = zephyr({ losesDigit: true });
    await client.poll();
    await pause();
    await eventually('it cancels', async () => (await client.poll()).includes('cancelled'));
    expect(await client.poll()).toEqual(['cancelled']);
    const { cancel } = await new DdiDevice(node, tenant.app, id).poll();
    expect(cancel).toMatch(/^\d+[1-9]$/);
  });
});

/** Starts a proxy before a node, as Zephyr needs it: it serves the files as well. */
async function startFront(nodeUrl: string) {
  const { hostname, port: nodePort } = new URL(nodeUrl);
  const { port, close } = await loopbackServer((asked, answer) => {
    const { method, url = '', headers } = asked;
    if (url.startsWith('/files/')) {
      answer.writeHead(200, { 'content-length': FILE.length }).end(FILE);
      return;
    }
    const options = { agent: false, hostname, port: nodePort, method, path: url, headers } as const;
    const onward = request(options, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(answer);
    });
    onward.on('error', () => answer.writeHead(502).end());
    asked.pipe(onward);
  });
  return { host: `127.0.0.1:${port}`, close };
}
