// Tests which artifact of a release a device gets, and which devices a release is for (docs/contract.md 2.3,
// 13.8 and 13.9), over HTTP. The rules themselves are tested in test/domain.

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { at, fileOf, manifestOf, release, serve, tenantWith } from '../support/released.ts';
import { deviceSuite } from '../support/service-suite.ts';
import { type CheckOptions, check, createTenant, type Tenant } from '../support/tenant.ts';

type Fields = Record<string, unknown>;
type Asking = CheckOptions & { readonly version?: string };

const EXPRESSION = (key: string, operator: string, ...values: string[]) => ({
  matchExpressions: [{ key, operator, ...(values.length === 0 ? {} : { values }) }],
});
const INNER = { matchLabels: { ring: ['inner'] } };

/** Targeting, and requests of devices that the release is for, and is not for: queries, or more. */
const CASES: readonly (readonly [
  rule: string,
  targets: Fields | null,
  inside: readonly (string | Asking)[],
  outside: readonly (string | Asking)[],
])[] = [
  ['an empty object is for everybody', {}, ['', 'l.tier=gold'], []],
  [
    'matchLabels and matchExpressions are ANDed, and every key compares exactly',
    { matchLabels: { tier: ['gold', 'silver'] }, ...EXPRESSION('blocked', 'DoesNotExist') },
    ['l.tier=gold', 'l.tier=silver', 'l.other=1&l.tier=gold', 'l.tier=bronze&l.tier=gold'],
    [
      ...['', 'l.tier=', 'l.tier=Gold', 'l.Tier=gold', 'l.tier=gold%20', 'tier=gold'],
      ...['l.tier=gold&l.blocked=', 'l.tier=gold&l.tier=bronze'],
    ],
  ],
  [
    'NotIn fails closed without the label',
    EXPRESSION('tier', 'NotIn', 'gold'),
    ['l.tier=silver', 'l.tier='],
    ['', 'l.tier=gold', 'l.other=1'],
  ],
  [
    'Exists holds for any value, also the empty one',
    EXPRESSION('tier', 'Exists'),
    ['l.tier=gold', 'l.tier=', 'l.tier'],
    ['', 'l.tiers=1'],
  ],
  [
    'versions compare semver-aware, as a range',
    {
      matchExpressions: [
        { key: '$version', operator: 'VersionGte', values: ['1.9'] },
        { key: '$version', operator: 'VersionLt', values: ['2.0.0'] },
      ],
    },
    [{ version: '1.9.0' }, { version: 'v1.10' }, { version: '2.0.0-rc.1' }],
    [{ version: '1.8.9' }, { version: '1.9.0-rc.1' }, { version: '2.0' }],
  ],
  [
    '$platform and $arch compare after alias folding, and no label stands for them',
    {
      matchExpressions: [
        { key: '$platform', operator: 'In', values: ['macOS', 'win32'] },
        { key: '$arch', operator: 'In', values: ['AMD64'] },
      ],
    },
    [{ platform: 'darwin' }, { platform: 'OSX' }, { platform: 'windows', arch: 'x64' }],
    [{ platform: 'linux' }, { platform: 'darwin', arch: 'aarch64' }, 'l.platform=darwin'],
  ],
  ['$arch DoesNotExist is for nobody here', EXPRESSION('$arch', 'DoesNotExist'), [], ['']],
  [
    'keys and values are UTF-8, percent-encoded in the query',
    { matchLabels: { 'größe & 🚀': ['a=b&c', 'ß'] } },
    [encoded('größe & 🚀', 'a=b&c'), encoded('größe & 🚀', 'ß')],
    [encoded('größe & 🚀', 'ss'), encoded('grösse & 🚀', 'ß')],
  ],
  [
    'keys that are names of object internals are labels like any other',
    JSON.parse('{"matchLabels":{"__proto__":["x"],"constructor":["y"]}}') as Fields,
    ['l.__proto__=x&l.constructor=y'],
    ['', 'l.__proto__=x', 'l.constructor=y', 'l.__proto__=y&l.constructor=y'],
  ],
];

deviceSuite('update check: targeting', (node) => {
  /** Returns the manifest that a device gets, or null for 204. */
  async function ask(tenant: Tenant, { version = '1.0.0', ...rest }: Asking = {}) {
    return manifestOf(await check(node, tenant, version, { device: randomUUID(), ...rest }));
  }

  async function file(tenant: Tenant, platform: string, arch: string): Promise<string | null> {
    return fileOf(await check(node, tenant, '1.0.0', { platform, arch }));
  }

  describe('artifact', () => {
    it('exact, then universal, then platform-wide; signed first among equals, else as published (§13.8)', async () => {
      const artifacts = [
        artifact('wide', 'linux', undefined, 's'),
        artifact('uni', 'linux', 'universal', 's'),
        artifact('arm', 'linux', 'aarch64'),
        artifact('arm-later', 'linux', 'arm64'),
        artifact('x', 'linux', 'x86_64'),
        artifact('x-signed', 'linux', 'amd64', 's'),
        artifact('x-signed-later', 'linux', 'x64', 's'),
        artifact('mac', 'macOS'),
      ];
      const tenant = await tenantWith(node, ['1.1.0', { artifacts }]);
      for (const [platform, arch, name] of [
        ['linux', 'ARM64', 'arm'],
        ['Linux', 'x64', 'x-signed'],
        ['linux', 'riscv64', 'uni'],
        ['linux', 'universal', 'uni'],
        ['osx', 'i386', 'mac'],
        ['windows', 'x64', null],
      ] as const) {
        expect([platform, arch, await file(tenant, platform, arch)]).toEqual([
          platform,
          arch,
          name,
        ]);
      }
    });

    it('the newest release that has an artifact for the device is offered (§13.4)', async () => {
      const tenant = await tenantWith(
        node,
        ['1.1.0', { artifacts: [artifact('a', 'linux')] }],
        ['1.2.0', { artifacts: [artifact('b', 'linux', 'aarch64')] }],
        ['1.3.0', { artifacts: [artifact('c', 'windows')] }],
        ['1.4.0', { artifacts: [] }],
      );
      expect(await file(tenant, 'linux', 'x86_64')).toBe('a');
      expect(await file(tenant, 'linux', 'aarch64')).toBe('b');
      expect(await file(tenant, 'windows', 'aarch64')).toBe('c');
      expect(await file(tenant, 'freebsd', 'aarch64')).toBeNull();
    });

    it('a publisher-defined platform and arch match themselves, whatever the case (§2.1, §13.8)', async () => {
      const artifacts = [artifact('r', 'Router OS/7', 'MIPS-be'), artifact('w', 'wörld')];
      const tenant = await tenantWith(node, ['1.1.0', { artifacts }]);
      expect(await file(tenant, 'router os/7', 'mips-BE')).toBe('r');
      expect(await file(tenant, 'router os/7', 'mips')).toBeNull();
      expect(await file(tenant, 'WÖRLD', 'any')).toBe('w');
    });
  });

  describe('targeting', () => {
    it.each(CASES)('%s (§2.3, §13.9)', async (_, targets, inside, outside) => {
      const artifacts = ['linux', 'darwin', 'windows'].map((platform) => artifact('a', platform));
      const tenant = await tenantWith(node, ['9.0.0', { artifacts, targets }]);
      const askFor = (each: string | Asking) =>
        ask(tenant, typeof each === 'string' ? { query: each } : each);
      for (const each of inside) expect(await askFor(each), JSON.stringify(each)).not.toBeNull();
      for (const each of outside) expect(await askFor(each), JSON.stringify(each)).toBeNull();
    });

    it('devices a release is not for fall through, with or without a device id (§3.8, §13.4, §13.11)', async () => {
      const tenant = await tenantWith(
        node,
        ['1.1.0'],
        ['1.2.0', { targets: { matchLabels: { ring: ['outer', 'inner'] } } }],
        ['1.3.0', { targets: INNER }],
        // Targeting does not widen a cohort: both must hold.
        ['1.4.0', { targets: INNER, rollout: 0 }],
      );
      for (const device of [randomUUID(), undefined]) {
        const version = async (query: string) =>
          (await check(node, tenant, '1.0.0', { query, ...(device && { device: device + query }) }))
            .body?.version;
        expect(await version('l.ring=inner')).toBe('1.3.0');
        expect(await version('l.ring=outer')).toBe('1.2.0');
        expect(await version('')).toBe('1.1.0');
      }
    });

    it('serving control changes whom a release is for at once, and null clears it (§4.3)', async () => {
      const tenant = await createTenant(node);
      await release(node, tenant, '1.1.0', { targets: INNER });
      expect(await ask(tenant, { query: 'l.ring=outer' })).toBeNull();
      await serve(node, tenant, '1.1.0', {
        targets: { matchLabels: { ring: ['inner', 'outer'] } },
      });
      expect(await ask(tenant, { query: 'l.ring=outer' })).not.toBeNull();
      await serve(node, tenant, '1.1.0', { targets: null });
      expect(await ask(tenant)).not.toBeNull();
    });
  });
});

function artifact(name: string, platform: string, arch?: string, signature?: string): Fields {
  return { platform, url: at(name), ...(arch && { arch }), ...(signature && { signature }) };
}

function encoded(key: string, value: string): string {
  return `${encodeURIComponent(`l.${key}`)}=${encodeURIComponent(value)}`;
}
