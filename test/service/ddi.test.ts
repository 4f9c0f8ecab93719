// Tests devices that speak DDI against a node (docs/contract.md 34): what they are offered, how actions end,
// what is withdrawn, and what is refused. The rules of actions are tested in
// test/domain/fleet/device-actions.test.ts.

import { expect, it } from 'vitest';
import { DdiDevice, type DdiDeviceOptions } from '../support/ddi-device.ts';
import { eventually } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import { beginDialogue, requestHead } from '../support/raw-exchange.ts';
import { serviceSuite, testTenant } from '../support/service-suite.ts';
import { type Json, randomId } from '../support/tenant.ts';

const FILE = {
  platform: 'linux',
  url: 'https://dl.example.com/files/image.swu',
  size: 1000,
  sha1: 'a'.repeat(40),
  sha256: 'b'.repeat(64),
};

serviceSuite('devices that speak DDI', (node) => {
  const tenant = testTenant(node);

  const publish = (version: string, more: Json = {}) =>
    tenant.release(version, { artifacts: [FILE], ...more });
  const device = (options: DdiDeviceOptions = {}, id = `d-${randomId()}`) =>
    new DdiDevice(node, tenant.app, id, options);

  /** A device on record that tells its version by its address. */
  async function recorded(version = '1.0.0', id?: string): Promise<DdiDevice> {
    const made = device({ machine: `linux/x86_64/${version}` }, id);
    await eventually('the channel answers DDI', async () => (await made.ask('GET')).status === 200);
    await made.tell({});
    return made;
  }
  const polled = (made: DdiDevice) => made.poll();

  it('get 400 alone to a request whose end is ambiguous, and their connection ends (§7.4)', async () => {
    const base = `GET /ddi/${tenant.app}/stable/controller/v1/d-1`;
    for (const lines of [
      ['Content-Length: 3', 'Transfer-Encoding: chunked'],
      ['Content-Length: 3', 'Content-Length: 4'],
      ['Transfer-Encoding: chunked', 'Trailer: Host'],
    ]) {
      const request = `${requestHead(base, ...lines)}3\r\nabc\r\n0\r\n\r\n`;
      const client = beginDialogue(node, [request + requestHead('GET /healthz')]);
      await eventually('the connection is closed', () => client.isClosed);
      expect(client.statuses).toEqual([400]);
    }
  });

  it('are answered only where the channel has DDI', async () => {
    const made = device();
    expectError(await made.ask('GET'), 404, 'Unknown channel');
    await tenant.openDdi();
    await eventually('DDI is on', async () => (await made.ask('GET')).status === 200);
    expectError(await made.ask('GET', '/installedBase/1'), 404, 'Unknown file');
    const refused = await made.ask('PUT');
    expectError(refused, 405, 'Method not allowed');
    expect(refused.headers.get('allow')).toBe('GET, HEAD');
    const unknown = await made.ask('DELETE');
    expect(unknown.status).toBe(405);
    for (const each of [refused, unknown, await made.ask('GET')]) {
      expect(each.headers.get('cache-control')).toBe('no-store');
    }
    expect((await made.ask('PUT', '/configData?dryRun=true', { data: {} })).status).toBe(200);
    expectError(await made.ask('GET', '/deploymentBase/11'), 404, 'Unknown action');
    expectError(await device({}, 'null').ask('GET'), 400, 'controllerId: Not an id of a device');
    expectError(
      await device({ machine: 'linux/x86_64/one' }).ask('GET'),
      400,
      'version: Invalid version',
    );
    const { status } = await device({ channel: 'beta' }).ask('GET');
    expect(status).toBe(404);
  });

  it('get the action, install it and are left alone', async () => {
    await tenant.openDdi({ pollSeconds: 20 });
    await publish('2.0.0');
    const made = await recorded();
    const { deployment, sleep, asksAttributes } = await polled(made);
    expect([deployment, asksAttributes]).toEqual([expect.stringMatching(/^\d+[1-9]$/), false]);
    expect(sleep).toMatch(/^00:00:(1[89]|2[0-2])$/);
    expect(await made.fetch(deployment)).toEqual({
      id: deployment,
      deployment: {
        download: 'attempt',
        update: 'attempt',
        chunks: [
          {
            part: 'bApp',
            version: '2.0.0',
            name: tenant.app,
            artifacts: [
              {
                filename: 'image.swu',
                hashes: { sha1: FILE.sha1, sha256: FILE.sha256 },
                size: 1000,
                _links: { download: { href: FILE.url }, 'download-http': { href: FILE.url } },
              },
            ],
          },
        ],
      },
    });
    await made.report(deployment, 'none', 'proceeding');
    expect((await polled(made)).deployment).toBe(deployment);
    await made.report(deployment, 'success');
    expect((await polled(made)).deployment).toBeUndefined();
    // After the restart it tells the new version, and after a fall-back the old one again.
    const renewed = device({ machine: 'linux/x86_64/2.0.0' }, made.id);
    expect((await polled(renewed)).deployment).toBeUndefined();
    const again = (await polled(made)).deployment;
    expect(again).not.toBe(deployment);
    expect(again?.slice(0, -1)).toBe(deployment?.slice(0, -1));
  });

  it('wait for their version, and get nothing below it', async () => {
    await tenant.openDdi();
    await publish('2.0.0');
    const made = device();
    await eventually('DDI is on', async () => (await made.ask('GET')).status === 200);
    expect((await polled(made)).asksAttributes).toBe(true);
    await made.tell({ arch: 'x86_64' });
    expect(await polled(made)).toMatchObject({ deployment: undefined, asksAttributes: false });
    await made.tell({ version: '3.0.0' });
    expect((await polled(made)).deployment).toBeUndefined();
    await made.tell({ version: '1.9.0' });
    expect((await polled(made)).deployment).toBeDefined();
  });

  it('are targeted by what they told, from the answer on', async () => {
    await tenant.openDdi();
    await publish('2.0.0', { targets: { matchLabels: { ring: ['inner'] }, matchExpressions: [] } });
    const made = await recorded();
    expect((await polled(made)).deployment).toBeUndefined();
    await made.tell({ ring: 'inner' });
    expect((await polled(made)).deployment).toBeDefined();
    await made.tell({ ring: 'outer' });
    expect((await polled(made)).deployment).toBeUndefined();
    await eventually('the record has the label', async () => {
      const known = (await tenant.devices()).find(({ deviceId }) => deviceId === made.id);
      return (known?.labels as Json | undefined)?.ring === 'outer';
    });
  });

  it('cancel what is paused once they have fetched it; the rest vanishes', async () => {
    await tenant.openDdi();
    await publish('2.0.0');
    const [fetching, idle] = [await recorded(), await recorded()];
    const { deployment } = await polled(fetching);
    await fetching.fetch(deployment);
    await polled(idle);
    await tenant.serve('2.0.0', { status: 'paused' });
    await eventually('the action is withdrawn', async () => {
      return (await polled(fetching)).cancel === deployment;
    });
    expect((await polled(idle)).deployment).toBeUndefined();
    const { body } = await fetching.ask('GET', `/cancelAction/${deployment}`);
    expect(body).toEqual({ id: deployment, cancelAction: { stopId: deployment } });
    expectError(await fetching.ask('GET', `/deploymentBase/${deployment}`), 404, 'Unknown action');
    await fetching.answerCancel(deployment);
    expect(await polled(fetching)).toMatchObject({ deployment: undefined, cancel: undefined });
    await tenant.serve('2.0.0', { status: 'published' });
    await eventually('it is offered again', async () => {
      const { deployment: next } = await polled(fetching);
      return next !== undefined && next !== deployment;
    });
  });

  it('are barred from what failed, which counts for the release', async () => {
    await tenant.openDdi({ retries: 0 });
    await publish('2.0.0');
    const made = await recorded();
    const { deployment } = await polled(made);
    const result = `"result":{"finished":"failure"},"details":["a\nb"c"]`;
    const raw = `{"id":"1","status":{"execution":"closed",${result}}}`;
    const { status } = await made.ask('POST', `/deploymentBase/${deployment}/feedback`, raw);
    expect(status).toBe(200);
    expect((await polled(made)).deployment).toBeUndefined();
    expect((await made.report('999', 'failure')).status).toBe(200);
    expect((await made.report(deployment, 'success')).status).toBe(200);
    expect((await polled(made)).deployment).toBeUndefined();
  });

  it('get absolute links by the address that they asked', async () => {
    await tenant.openDdi();
    const made = device({
      headers: { host: 'updates.example:8443', 'x-forwarded-proto': 'https' },
    });
    await eventually('DDI is on', async () => (await made.ask('GET')).status === 200);
    const { text } = await made.ask('GET');
    expect(text).toContain(`/ddi/${tenant.app}/stable/controller/v1/${made.id}/configData`);
  });
});
