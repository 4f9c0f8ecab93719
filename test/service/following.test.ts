// Tests channels that follow another one over HTTP: what their devices get, and what stays with each channel
// (docs/contract.md 11.19). Which releases a follower serves is tested in test/store/ledger/following-
// contract.ts, how they are decided over in test/domain/decision/decide.test.ts.

import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { deviceSuite, suiteTenant } from '../support/service-suite.ts';
import { type Answer, admin, type Json, releaseOf, send, type Tenant } from '../support/tenant.ts';

const MACHINE = { platform: 'linux', arch: 'x86_64' };

deviceSuite('a channel that follows another one', (node) => {
  const tenant = suiteTenant(node);

  function setChannel({ app }: Tenant, name: string, change: Json): Promise<Answer> {
    return admin(node, 'PATCH', 'channels', { app, name, ...change });
  }

  /** Another app of the tenant, whose beta follows stable. */
  async function following(): Promise<Tenant> {
    const made = await tenant.anotherApp();
    const answer = await setChannel(made, 'beta', { follows: 'stable' });
    expect(answer.body, answer.text).toMatchObject({ name: 'beta', follows: 'stable' });
    return made;
  }

  /** Returns what a device of a channel is offered, undefined for 204. */
  async function offered(of: Tenant, version: string, channel = 'beta') {
    const { status, body } = await of.check(version, { channel, device: randomUUID() });
    expect([200, 204]).toContain(status);
    return body;
  }

  it('is decided over the published releases of both, highest first, as soon as a change is answered; the followed one gets nothing of it', async () => {
    const made = await following();
    const versionFor = async (...asked: [version: string, channel?: string]) =>
      (await offered(made, ...asked))?.version;
    await made.publish('1.3.0-rc.1', { channel: 'beta' });
    await made.publish('1.2.0');
    expect(await versionFor('1.0.0')).toBe('1.3.0-rc.1');
    await made.publish('1.3.0');
    expect(await versionFor('1.3.0-rc.1')).toBe('1.3.0');
    const device = { ...MACHINE, deviceId: 'x', version: '1.0.0' };
    const wave = await made.decisions([device], { channel: 'beta' });
    expect(wave.body).toMatchObject({ decisions: [{ update: { version: '1.3.0' } }] });
    await made.control('1.3.0', { status: 'paused' });
    expect(await versionFor('1.3.0-rc.1')).toBeUndefined();
    await made.control('1.3.0', { status: 'published' });
    expect(await versionFor('1.3.0-rc.1')).toBe('1.3.0');
    await made.publish('2.0.0', { channel: 'beta' });
    expect(await versionFor('1.2.9', 'stable')).toBe('1.3.0');
    expect(await versionFor('1.3.0', 'stable')).toBeUndefined();
    await made.control('1.3.0', { status: 'rolled_back' });
    const down = { version: '1.3.0-rc.1', allowDowngrade: true };
    expect(await offered(made, '1.3.0')).toMatchObject(down);
  });

  it('keeps its own terms; what its devices are offered is in files of updaters, counts as offered, and ends with null', async () => {
    const made = await following();
    const url = 'https://dl.example.com/app.AppImage';
    const artifact = { ...MACHINE, url, sha512: 'ab'.repeat(64), size: 7 };
    await made.publish('1.1.0', { artifacts: [artifact], notes: 'of stable' });
    const required = { minimumSupportedVersion: '1.1.0' };
    const terms = { ...required, updateMode: 'recommended', requireSignature: true };
    await setChannel(made, 'stable', terms);
    const optional = { version: '1.1.0', updateMode: 'optional' };
    expect(await offered(made, '1.0.0')).toMatchObject(optional);
    expect((await made.control('1.1.0', { rollout: 50 })).status).toBe(422);
    const name = { app: made.app, channel: 'stable', version: '1.1.0' };
    expect((await made.manage('DELETE', 'releases', name)).status).toBe(409);
    const get = (path: string) => send(node, 'GET', path.replace('@', made.app));
    expect((await get('/e/@/beta/latest-linux.yml')).text).toContain("version: '1.1.0'");
    // No feed, list or download of the follower has it.
    expect((await get('/feed/@/stable')).text).toContain('of stable');
    for (const path of ['/feed/@/beta', '/feed/@/beta/rss.xml']) {
      expect((await get(path)).text).not.toContain('of stable');
    }
    const download = await get('/download/@/beta/linux');
    expect([download.status, download.body]).toEqual([404, { error: 'No download' }]);
    const list = await made.manage('GET', `releases?app=${made.app}&channel=beta`);
    expect(list.body?.releases).toEqual([]);
    await setChannel(made, 'beta', required);
    expect(await offered(made, '1.0.0')).toMatchObject({ updateMode: 'required' });
    await setChannel(made, 'beta', { requireSignature: true });
    expect(await offered(made, '1.0.0')).toBeUndefined();
    const channels = await made.manage('GET', `channels?app=${made.app}`);
    expect(channels.body?.channels).toMatchObject([
      { name: 'beta', follows: 'stable' },
      { name: 'stable', follows: null },
    ]);
    await setChannel(made, 'beta', { requireSignature: false });
    expect(await offered(made, '1.0.0')).toMatchObject({ version: '1.1.0' });
    await setChannel(made, 'beta', { follows: null });
    expect(await offered(made, '1.0.0')).toBeUndefined();
    const audit = await admin(node, 'GET', `audit?org=${made.org}&limit=1&action=channel`);
    expect(audit.body?.entries).toMatchObject([
      { action: 'channel.update', before: { follows: 'stable' }, after: { follows: null } },
    ]);
  });

  it('follows no channel that follows it (409), and none that is no channel of the app (404) or no name (400)', async () => {
    const made = await following();
    const circle = 'A channel cannot follow itself, nor one that follows it';
    for (const [name, follows, status, error] of [
      ['beta', 'beta', 409, circle],
      ['stable', 'beta', 409, circle],
      ['beta', 'nowhere', 404, 'Unknown channel'],
      ['beta', `${tenant.app}/stable`, 404, 'Unknown channel'],
      ...['', 1, {}, 'x'.repeat(10_000)].map(
        (wrong) => ['beta', wrong, 400, /^follows: /] as const,
      ),
    ] as const) {
      const { status: answered, body } = await setChannel(made, name, { follows });
      expect([answered, body?.error], String(follows)).toEqual([
        status,
        expect.stringMatching(error),
      ]);
    }
  });

  it('a followed release counts the devices of followers that run it, unless they run one of their own (§11.22)', async () => {
    const made = await following();
    const { id } = releaseOf(await made.publish('1.1.0', { rollout: 0 }));
    const devices = ['stable', 'beta'].map((channel) => {
      return { ...MACHINE, version: '1.1.0', deviceId: `on-${channel}`, channel };
    });
    await made.report(devices);
    const read = () => made.manage('GET', `releases/${id}`);
    expect((await read()).body?.devices).toBe(2);
    const name = { app: made.app, channel: 'stable', version: '1.1.0' };
    const withdrawn = await made.manage('DELETE', 'releases', name);
    expectError(withdrawn, 409, expect.stringMatching(/^This release already runs on 2 devices: /));
    await made.publish('1.1.0', { channel: 'beta', rollout: 0 });
    expect((await read()).body?.devices).toBe(1);
  });
});
