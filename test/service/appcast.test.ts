// Tests the appcasts of Sparkle and WinSparkle (docs/contract.md 21.5), over HTTP. Each is held against the
// rules of RSS 2.0 and read as those clients read it.

import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { feedBreaches, htmlBreaches } from '../support/feed-rules.ts';
import { at, release, serve } from '../support/released.ts';
import { deviceSuite } from '../support/service-suite.ts';
import { readAppcast, type SparkleUpdate } from '../support/sparkle-client.ts';
import {
  type Answer,
  control,
  createTenant,
  devicesOf,
  send,
  type Tenant,
} from '../support/tenant.ts';

type Fields = Record<string, unknown>;
type System = 'darwin' | 'windows';

const SIGNATURE = Buffer.alloc(64, 7).toString('base64');
const FILES = { darwin: 'appcast.xml', windows: 'appcast-windows.xml' } as const;

function artifact(platform: string, name: string, more: Fields = {}): Fields {
  return { platform, url: at(name), ...more };
}

deviceSuite('appcasts', (node) => {
  async function put(tenant: Tenant, version: string, artifacts: Fields[], more: Fields = {}) {
    await release(node, tenant, version, { artifacts, ...more });
  }

  function address({ app }: Tenant, system: System = 'darwin', query = ''): string {
    return `/sparkle/${app}/stable/${FILES[system]}${query}`;
  }

  function get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    return send(node, 'GET', path, { headers });
  }

  /** Reads an appcast as its client does, after the rules of RSS. */
  async function read(
    tenant: Tenant,
    system: System = 'darwin',
    query = '',
  ): Promise<SparkleUpdate | undefined> {
    const path = address(tenant, system);
    const { status, text } = await get(`${path}${query}`);
    expect(status, text).toBe(200);
    expect(await feedBreaches(text, `${node.url}${path}`)).toEqual([]);
    return readAppcast(text, system);
  }

  async function fileOf(tenant: Tenant, system: System = 'darwin', query = '') {
    return (await read(tenant, system, query))?.url.split('/').at(-1);
  }

  it('offers one release, with all that its clients read (§21.5)', async () => {
    const tenant = await createTenant(node);
    const told = {
      arch: 'universal',
      size: 4711,
      signature: SIGNATURE,
      minimumSystemVersion: '13.0',
      buildVersion: '1042',
    };
    await put(tenant, '1.0.0', [artifact('darwin', 'old.zip', told)]);
    await put(tenant, 'v1.1', [artifact('darwin', 'Notes&1.zip', told)], {
      notes: '## Better\n\n- *faster* & <b>smaller</b>\n- ]]> <script>alert(1)</script>',
    });
    await eventually('it has its notes', async () => (await read(tenant))?.notes !== undefined);
    const update = await read(tenant);
    expect(update).toEqual({
      version: '1042',
      shortVersion: '1.1.0',
      minimumSystemVersion: '13.0',
      hardware: undefined,
      notes: expect.stringContaining('<h2>Better</h2>'),
      date: expect.any(Date),
      url: at('Notes&1.zip'),
      length: 4711,
      type: 'application/zip',
      signature: SIGNATURE,
    });
    expect(htmlBreaches(update?.notes ?? '')).toEqual([]);
    expect(update?.notes).toContain('&lt;script&gt;');
    const answer = await get(address(tenant));
    expect(answer.headers.get('content-type')).toBe('application/xml');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const head = await send(node, 'HEAD', address(tenant));
    expect([head.status, head.text]).toEqual([200, '']);
  });

  it('tells the version as the build where the artifact names none, and no more than is known (§21.5)', async () => {
    const tenant = await createTenant(node);
    await put(tenant, '2.0.0-beta.1', [artifact('darwin', 'Notes.dmg')]);
    expect(await read(tenant)).toEqual({
      version: '2.0.0-beta.1',
      shortVersion: '2.0.0-beta.1',
      minimumSystemVersion: undefined,
      hardware: undefined,
      notes: undefined,
      date: expect.any(Date),
      url: at('Notes.dmg'),
      length: 0,
      type: 'application/x-apple-diskimage',
      signature: undefined,
    });
  });

  it('asks for a Windows as Windows numbers itself, build and all (§21.5)', async () => {
    const tenant = await createTenant(node);
    for (const [version, system, written] of [
      ['1.0.0', '11', '10.0-22000'],
      ['1.1.0', '10.0.17763', '10.0-17763'],
      ['1.2.0', '10', '10.0'],
    ] as const) {
      const told = { minimumSystemVersion: system };
      await put(tenant, version, [artifact('windows', 'Notes.exe', told)]);
      expect((await read(tenant, 'windows'))?.minimumSystemVersion).toBe(written);
    }
  });

  it('is of the release that every device may have, as in update files, or has no item (§21.5)', async () => {
    const tenant = await createTenant(node);
    expect(await read(tenant)).toBeUndefined();
    const zip = (name: string) => [artifact('darwin', name)];
    await put(tenant, '1.0.0', zip('1.zip'));
    await put(tenant, '1.1.0', zip('2.zip'), { targets: { matchLabels: { ring: ['early'] } } });
    await put(tenant, '1.2.0', zip('3.zip'), { rollout: 0 });
    expect(await fileOf(tenant)).toBe('1.zip');
    expect(await fileOf(tenant, 'darwin', '?l.ring=early')).toBe('2.zip');
    expect(await read(tenant, 'windows')).toBeUndefined();
    await serve(node, tenant, '1.2.0', { rollout: 50 });
    const files = await Promise.all(
      Array.from({ length: 40 }, (_, index) => fileOf(tenant, 'darwin', `?device=d${index}`)),
    );
    expect(new Set(files)).toEqual(new Set(['1.zip', '3.zip']));
    expect(await fileOf(tenant)).toBe('1.zip');
    await serve(node, tenant, '1.2.0', { rollout: 100 });
    expect(await fileOf(tenant)).toBe('3.zip');
    await serve(node, tenant, '1.2.0', { status: 'rolled_back' });
    await serve(node, tenant, '1.0.0', { status: 'paused' });
    expect(await read(tenant)).toBeUndefined();
  });

  it.each([
    ['darwin', ['Notes.zip', 'Notes.tar.xz', 'Notes.tar.bz2', 'Notes.dmg', 'Notes.pkg']],
    ['windows', ['Notes-setup.exe', 'Notes.exe', 'Notes.msi']],
  ] as const)('on %s only what its client installs is offered (§21.5)', async (system, names) => {
    const tenant = await createTenant(node);
    const others = ['Notes.app.tar.gz', 'Notes.nupkg', 'Notes.AppImage', 'Notes.msix', 'Notes.bin'];
    await put(
      tenant,
      '0.1.0',
      others.map((name) => artifact(system, name)),
    );
    expect(await read(tenant, system)).toBeUndefined();
    for (const [index, name] of names.entries()) {
      const format = name.endsWith('.bz2') ? { format: 'tar.bz2' } : {};
      await put(tenant, `1.${index}.0`, [artifact(system, name, format)]);
      expect(await fileOf(tenant, system)).toBe(name);
    }
    // All at once: a signed one first, then by format.
    const all = names.filter((name) => !name.endsWith('.bz2')).reverse();
    await put(
      tenant,
      '2.0.0',
      all.map((name) => artifact(system, name)),
    );
    expect(names.slice(0, 2)).toContain(await fileOf(tenant, system));
    const signed = (name: string) => artifact(system, name, { signature: SIGNATURE });
    const last = names.at(-1) as string;
    await put(tenant, '2.1.0', [
      ...all.filter((name) => name !== last).map((name) => artifact(system, name)),
      signed(last),
    ]);
    expect(await fileOf(tenant, system)).toBe(last);
  });

  it('the arch is told in the query; without it what runs everywhere goes first (§21.5)', async () => {
    const tenant = await createTenant(node);
    const zip = (arch: string | undefined) => artifact('darwin', `${arch}.zip`, { arch });
    await put(tenant, '1.0.0', [zip('arm64'), zip('x64')]);
    expect(await fileOf(tenant, 'darwin', '?arch=arm64')).toBe('arm64.zip');
    expect(await fileOf(tenant, 'darwin', '?arch=AARCH64')).toBe('arm64.zip');
    expect(await fileOf(tenant, 'darwin', '?arch=x86_64')).toBe('x64.zip');
    expect(await fileOf(tenant)).toBe('x64.zip');
    expect(await fileOf(tenant, 'darwin', '?arch=')).toBe('x64.zip');
    expect(await fileOf(tenant, 'darwin', '?arch=riscv64')).toBeUndefined();
    await put(tenant, '1.1.0', [zip('x64'), zip(undefined)]);
    expect(await fileOf(tenant)).toBe('undefined.zip');
    await put(tenant, '1.2.0', [zip(undefined), zip('universal')]);
    expect(await fileOf(tenant)).toBe('universal.zip');
  });

  it('of an app that has only ever been for arm64 has its release, which Intel Macs refuse (§21.5)', async () => {
    const zip = (name: string, arch?: string) => artifact('darwin', name, { arch });
    const arm = zip('arm64.zip', 'arm64');
    const tenant = await createTenant(node);
    await put(tenant, '1.0.0', [arm, artifact('windows', 'x64.exe', { arch: 'x64' })]);
    expect(await read(tenant)).toMatchObject({ version: '1.0.0', hardware: 'arm64' });
    expect(await read(tenant, 'darwin', '?arch=arm64')).toMatchObject({ hardware: 'arm64' });
    expect(await read(tenant, 'darwin', '?arch=x64')).toBeUndefined();
    // Sparkle before 2.9 installs it on an Intel Mac all the same, so there must be none.
    for (const [version, other] of [
      ['0.1.0', zip('x64.zip', 'x64')],
      ['0.2.0', zip('universal.zip', 'universal')],
      ['0.3.0', zip('any.zip')],
      ['0.4.0', zip('x64.app.tar.gz', 'x64')],
    ] as const) {
      const mixed = await createTenant(node);
      await put(mixed, version, [other], { status: 'paused' });
      await put(mixed, '1.0.0', [arm]);
      expect(await read(mixed)).toBeUndefined();
      expect(await read(mixed, 'darwin', '?arch=arm64')).toMatchObject({ hardware: 'arm64' });
    }
    // A release for every Mac asks for no hardware.
    await put(tenant, '1.1.0', [arm, zip('universal.zip', 'universal')]);
    const every = await read(tenant);
    expect([every?.version, every?.hardware]).toEqual(['1.1.0', undefined]);
  });

  describe('as every check', () => {
    it('limits rollout and targeting from the first offer on (§14.1)', async () => {
      const tenant = await createTenant(node);
      await put(tenant, '1.0.0', [artifact('darwin', 'Notes.zip')]);
      await put(tenant, '1.1.0', [artifact('windows', 'Notes.exe')]);
      await read(tenant);
      expect((await control(node, tenant, '1.0.0', { rollout: 1 })).status).toBe(422);
      await serve(node, tenant, '1.1.0', { rollout: 1 });
    });

    it('is a check-in, with labels, that tells no version (§19.9)', async () => {
      const tenant = await createTenant(node);
      await put(tenant, '1.0.0', [artifact('darwin', 'Notes.zip')]);
      await get(address(tenant, 'darwin', '?device=by-query&l.ring=early&arch=arm64'));
      await get(address(tenant, 'windows'), { 'X-Service-Device': 'by-header' });
      const expected = [
        ['by-header', null, 'windows', null, 'sparkle', null],
        ['by-query', null, 'darwin', 'aarch64', 'sparkle', '1.0.0'],
      ];
      await eventually('both devices are on record', async () => {
        const found = (await devicesOf(node, tenant)).map((each) => {
          const { deviceId, version, platform, arch, client, lastOffered } = each;
          const offered = (lastOffered as Fields | null)?.version ?? null;
          return [deviceId, version, platform, arch, client, offered];
        });
        return JSON.stringify(found) === JSON.stringify(expected);
      });
    });
  });
});
