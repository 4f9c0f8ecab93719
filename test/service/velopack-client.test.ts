// Tests the real client of Velopack against a running service (docs/contract.md 21.3): it finds the package,
// downloads it from where the publisher keeps it, and stays where nothing is on offer.

import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deviceSuite } from '../support/service-suite.ts';
import { createTenant, type Tenant } from '../support/tenant.ts';
import { findVelopack, runVelopackClient, VELOPACK_APP } from '../support/velopack-client.ts';

const isMissing = findVelopack() === undefined;
const reason = isMissing ? ' (skipped: SLUICE_VELOPACK names no folder of the client)' : '';

deviceSuite('Velopack itself', (node) => {
  describe.skipIf(isMissing)(`the client of the registry${reason}`, () => {
    let files: Server;
    /** Paths that were asked of the publisher's server. */
    const fetched: string[] = [];

    beforeAll(async () => {
      files = createServer(({ url = '' }, response) => {
        fetched.push(url);
        response.end(contentOf(url.slice(1)));
      });
      await new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve));
    });
    afterAll(() => new Promise((resolve) => files.close(resolve)));

    function serving(...releases: readonly (readonly [string, Record<string, unknown>?])[]) {
      return createTenant(
        node,
        ...releases.map(
          ([version, more]) => [version, { artifacts: [packageOf(version)], ...more }] as const,
        ),
      );
    }

    function packageOf(version: string) {
      const name = nameOf(version);
      const { port } = files.address() as AddressInfo;
      return {
        platform: 'linux',
        arch: 'x64',
        url: `http://127.0.0.1:${port}/${name}`,
        size: contentOf(name).length,
        sha1: createHash('sha1').update(contentOf(name)).digest('hex'),
        sha256: createHash('sha256').update(contentOf(name)).digest('hex'),
      };
    }

    const run = ({ app }: Tenant, version: string) =>
      runVelopackClient(`${node.url}/velopack/${app}/stable`, version);

    it('updates: it downloads the package from where it is published (§21.3)', async () => {
      const tenant = await serving(['1.0.0'], ['1.1.0', { notes: '# Better' }]);
      fetched.length = 0;
      const { update, packages } = await run(tenant, '1.0.0');
      expect(update).toMatchObject({
        PackageId: VELOPACK_APP,
        Version: '1.1.0',
        NotesMarkdown: '# Better',
      });
      const name = nameOf('1.1.0');
      expect([...packages]).toEqual([[name, contentOf(name)]]);
      expect(fetched).toEqual([`/${name}`]);
    });

    it('stays on the version on offer and on a newer one, and finds nothing that is paused (§21.3, §21.4)', async () => {
      const tenant = await serving(['1.0.0'], ['1.1.0']);
      for (const version of ['1.1.0', '2.0.0']) {
        expect(await run(tenant, version)).toEqual({ update: undefined, packages: new Map() });
      }
      await tenant.serve('1.1.0', { status: 'paused' });
      expect((await run(tenant, '1.0.0')).update).toBeUndefined();
    });

    it('takes the full package beside a delta, and finds nothing in a release of a delta (§13.16)', async () => {
      const delta = (version: string) => {
        const { url, ...sums } = packageOf(version);
        return { ...sums, url: url.replace('-full.nupkg', '-delta.nupkg') };
      };
      const tenant = await serving(
        ['1.0.0'],
        ['1.1.0', { artifacts: [delta('1.1.0'), packageOf('1.1.0')] }],
        ['1.2.0', { artifacts: [delta('1.2.0')] }],
      );
      const { update, packages } = await run(tenant, '1.0.0');
      expect(update?.Version).toBe('1.1.0');
      const name = nameOf('1.1.0');
      expect([...packages]).toEqual([[name, contentOf(name)]]);
      expect((await run(tenant, '1.1.0')).update).toBeUndefined();
    });
  });
});

function nameOf(version: string): string {
  return `${VELOPACK_APP}-${version}-linux-full.nupkg`;
}

/** What the publisher's server has below a name. */
function contentOf(name: string): string {
  return `content of ${name}`;
}
