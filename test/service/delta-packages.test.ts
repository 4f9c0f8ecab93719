// Tests that no client is offered a package which holds only what changed since another version, whatever way
// it came in and however its address is written (docs/contract.md 13.16).

import { describe, expect, it } from 'vitest';
import { asset, deliver, enableWebhook, releaseEvent } from '../support/github.ts';
import { at, release } from '../support/released.ts';
import { deviceSuite, serviceSuite } from '../support/service-suite.ts';
import { createTenant, manage, send, type Tenant } from '../support/tenant.ts';

type Addressed = { readonly url: string };
type Fields = Record<string, unknown>;

const SUMS = { sha1: 'ab'.repeat(20), sha256: 'cd'.repeat(32), sha512: 'ef'.repeat(64), size: 99 };

/** Addresses of deltas. */
const DELTAS = [
  'Notes-1.1.0-delta.nupkg',
  'Notes-1.1.0-DELTA.NuPkg',
  'Notes-1.1.0-win-x64-delta.nupkg',
  'Notes-1.1.0-delta.nupkg?token=x',
  'Notes-1.1.0-delta.nupkg#x64',
  'Notes-1.1.0%2Ddelta%2enupkg',
  'Notes-1.1.0-d%65lta.nupkg',
  'Notes-1.1.0-delta.nupkg/download',
  'Notes-1.1.0-delta.nupkg/',
] as const;

function nupkg(name: string, more: Fields = {}): Fields {
  return { platform: 'windows', arch: 'x64', url: at(name), ...SUMS, ...more };
}

/** Returns the packages that the clients on Windows are led to, each once. */
async function packagesFor(node: Addressed, { app }: Tenant): Promise<readonly string[]> {
  const channel = 'stable';
  const textOf = async (path: string) => (await send(node, 'GET', path)).text;
  const download = await fetch(`${node.url}/download/${app}/${channel}/windows`, {
    redirect: 'manual',
  });
  const texts = [
    await textOf(`/squirrel/${app}/${channel}/win32-x64/1.0.0/RELEASES`),
    await textOf(`/velopack/${app}/${channel}/releases.win.json?localVersion=1.0.0`),
    await textOf(`/u/${app}/${channel}/windows/x64/1.0.0`),
    await textOf(`/u/${app}/${channel}/windows/x64/1.0.0?bundle=nupkg`),
    await textOf(`/e/${app}/${channel}/latest.yml`),
    await textOf(`/sparkle/${app}/${channel}/appcast-windows.xml`),
    await textOf(`/feed/${app}/${channel}`),
    await textOf(`/feed/${app}/${channel}/rss.xml`),
    download.headers.get('location') ?? '',
  ];
  const names = texts.map((text) => decodeURIComponent(text).match(/[\w.-]+\.nupkg/gi) ?? []);
  expect(names.filter((found) => found.length > 0).length).toBeGreaterThan(5);
  return [...new Set(names.flat())];
}

deviceSuite('a package that holds only what changed', (node) => {
  it.each(DELTAS)('%s is offered to no client, beside the full one (§13.16)', async (name) => {
    const tenant = await createTenant(node);
    const full = 'Notes-1.1.0-full.nupkg';
    await release(node, tenant, '1.1.0', { artifacts: [nupkg(name), nupkg(full)] });
    expect(await packagesFor(node, tenant)).toEqual([full]);
  });

  it.each(DELTAS)(
    '%s alone is as no artifact, whatever format it is said to have',
    async (name) => {
      for (const format of [undefined, 'nupkg', 'zip', 'exe']) {
        const tenant = await createTenant(node);
        await release(node, tenant, '1.0.5', { artifacts: [nupkg('Notes-1.0.5-full.nupkg')] });
        const artifacts = [nupkg(name, format === undefined ? {} : { format })];
        await release(node, tenant, '1.1.0', { artifacts });
        // The release below is offered in its place.
        expect(await packagesFor(node, tenant)).toEqual(['Notes-1.0.5-full.nupkg']);
      }
    },
  );

  it('a delta of Sparkle is offered to no client, unless its publisher gave it a format', async () => {
    const tenant = await createTenant(node);
    const delta = { platform: 'darwin', url: at('Notes1.1.0-1.0.0.delta') };
    await release(node, tenant, '1.1.0', {
      artifacts: [delta, { platform: 'darwin', url: at('Notes-1.1.0.dmg') }],
    });
    const check = (query = '') =>
      send(node, 'GET', `/u/${tenant.app}/stable/darwin/arm64/1.0.0${query}`);
    expect((await check()).body?.url).toBe(at('Notes-1.1.0.dmg'));
    await release(node, tenant, '1.2.0', { artifacts: [{ ...delta, format: 'delta' }] });
    expect((await check('?bundle=delta')).body?.url).toBe(delta.url);
  });
});

serviceSuite('a delta by every way in', (node) => {
  describe('is offered to no client (§13.16)', () => {
    const artifacts = [nupkg('Notes-1.1.0-delta.nupkg'), nupkg('Notes-1.1.0-full.nupkg')];

    it('promoted', async () => {
      const tenant = await createTenant(node);
      await release(node, tenant, '1.1.0', { channel: 'beta', artifacts });
      const body = { app: tenant.app, version: '1.1.0', from: 'beta', to: 'stable' };
      expect((await manage(node, tenant, 'POST', 'releases/promote', body)).status).toBe(201);
      expect(await packagesFor(node, tenant)).toEqual(['Notes-1.1.0-full.nupkg']);
    });

    it('announced by a code host', async () => {
      const tenant = await createTenant(node);
      const hook = await enableWebhook(node, tenant);
      const assets = [asset('Notes-1.1.0-delta.nupkg'), asset('Notes-1.1.0-full.nupkg')];
      const event = releaseEvent('v1.1.0', { assets });
      expect((await deliver(node, hook, event)).body).toMatchObject({ outcome: 'created' });
      expect(await packagesFor(node, tenant)).toEqual(['Notes-1.1.0-full.nupkg']);
    });
  });
});
