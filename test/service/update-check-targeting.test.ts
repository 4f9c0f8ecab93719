// Tests which artifact of a release a device gets, and which devices a release is for (docs/contract.md 2.3,
// 13.8 and 13.9), over HTTP on a running node.

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { deviceSuiteOnce } from '../support/service-suite.ts';
import {
  admin,
  type CheckOptions,
  check,
  control,
  createTenant,
  publish,
  type Tenant,
} from '../support/tenant.ts';

type Fields = Record<string, unknown>;
type Where = readonly [platform: string, arch: string];

deviceSuiteOnce('update check: targeting', (node) => {
  /** Returns the manifest that a device gets, or null for 204. */
  async function ask(tenant: Tenant, options: CheckOptions & { version?: string } = {}) {
    const { version = '1.0.0', ...rest } = options;
    const answer = await check(node, tenant, version, { device: randomUUID(), ...rest });
    if (answer.status === 204) return null;
    expect(answer.status, answer.text).toBe(200);
    return answer.body ?? {};
  }

  async function release(tenant: Tenant, version: string, more: Fields): Promise<void> {
    const answer = await publish(node, tenant, version, more);
    expect(answer.status, answer.text).toBe(201);
  }

  /** Returns the file name in the url of the artifact that a device gets. */
  async function file(tenant: Tenant, [platform, arch]: Where, channel = 'stable') {
    const manifest = await ask(tenant, { platform, arch, channel });
    return manifest === null ? null : String(manifest.url).split('/').at(-1);
  }

  describe('artifact', () => {
    it('exact platform and arch first, then universal, then platform-wide (§13.8)', async () => {
      const tenant = await createTenant(node);
      const all = [
        artifact('wide', 'linux'),
        artifact('uni', 'linux', 'universal'),
        artifact('arm', 'linux', 'aarch64'),
      ];
      await release(tenant, '1.1.0', { artifacts: all });
      await release(tenant, '1.1.0', { artifacts: all.slice(0, 1), channel: 'beta' });
      expect(await file(tenant, ['linux', 'aarch64'])).toBe('arm');
      expect(await file(tenant, ['linux', 'x86_64'])).toBe('uni');
      expect(await file(tenant, ['linux', 'universal'])).toBe('uni');
      expect(await file(tenant, ['linux', 'aarch64'], 'beta')).toBe('wide');
      expect(await file(tenant, ['darwin', 'aarch64'])).toBeNull();
    });

    it('among equals a signed artifact comes first, then the order of publishing (§13.8)', async () => {
      const tenant = await createTenant(node);
      const artifacts = [
        artifact('first', 'linux', 'x86_64'),
        signed('signed', 'linux', 'amd64'),
        signed('signed-later', 'linux', 'x64'),
        artifact('plain', 'linux', 'aarch64'),
        artifact('plain-later', 'linux', 'arm64'),
      ];
      await release(tenant, '1.1.0', { artifacts });
      expect(await file(tenant, ['linux', 'x86_64'])).toBe('signed');
      expect(await file(tenant, ['linux', 'aarch64'])).toBe('plain');
    });

    it('a signature does not make up for a less specific arch (§13.8)', async () => {
      const tenant = await createTenant(node);
      const artifacts = [
        signed('wide', 'linux'),
        signed('uni', 'linux', 'universal'),
        artifact('exact', 'linux', 'x86_64'),
      ];
      await release(tenant, '1.1.0', { artifacts });
      expect(await file(tenant, ['linux', 'x86_64'])).toBe('exact');
    });

    it('the newest release that has an artifact for the device is offered (§13.4)', async () => {
      const tenant = await createTenant(node);
      await release(tenant, '1.1.0', { artifacts: [artifact('a', 'linux')] });
      await release(tenant, '1.2.0', { artifacts: [artifact('b', 'linux', 'aarch64')] });
      await release(tenant, '1.3.0', { artifacts: [artifact('c', 'windows')] });
      await release(tenant, '1.4.0', { artifacts: [] });
      expect(await file(tenant, ['linux', 'x86_64'])).toBe('a');
      expect(await file(tenant, ['linux', 'aarch64'])).toBe('b');
      expect(await file(tenant, ['windows', 'aarch64'])).toBe('c');
      expect(await file(tenant, ['freebsd', 'aarch64'])).toBeNull();
    });

    it('a publisher-defined platform and arch match themselves, whatever the case (§2.1, §13.8)', async () => {
      const tenant = await createTenant(node);
      const artifacts = [artifact('r', 'Router OS/7', 'MIPS-be'), artifact('w', 'wörld')];
      await release(tenant, '1.1.0', { artifacts });
      expect(await file(tenant, ['router os/7', 'mips-BE'])).toBe('r');
      expect(await file(tenant, ['router os/7', 'mips'])).toBeNull();
      expect(await file(tenant, ['WÖRLD', 'any'])).toBe('w');
    });

    it.each<[folded: string, spellings: string[]]>([
      ['x86_64', ['x86_64', 'x64', 'amd64', 'X86_64', 'AMD64']],
      ['aarch64', ['aarch64', 'arm64', 'ARM64']],
      ['i686', ['i686', 'ia32', 'x86', 'i386', 'IA32']],
      ['universal', ['universal', 'Universal']],
    ])('every spelling of %s means it, in artifact and request (§13.8)', async (_, spellings) => {
      const strangers = ['armv7', 'riscv64', 'x86-64', 'arm', ''];
      const tenant = await tenantWithChannels(spellings.length);
      for (const [index, spelling] of spellings.entries()) {
        const channel = `c${index}`;
        await release(tenant, '1.1.0', {
          channel,
          artifacts: [artifact('a', 'linux', spelling)],
        });
        const asked = spellings.map((arch) => file(tenant, ['linux', arch], channel));
        expect(await Promise.all(asked), spelling).toEqual(spellings.map(() => 'a'));
        if (spelling.toLowerCase() === 'universal') continue;
        for (const arch of strangers.filter((each) => each !== '')) {
          expect(await file(tenant, ['linux', arch], channel), arch).toBeNull();
        }
      }
    });

    it.each<[folded: string, spellings: string[]]>([
      ['darwin', ['darwin', 'macos', 'mac', 'osx', 'macOS', 'Darwin']],
      ['windows', ['windows', 'win32', 'win', 'Windows', 'WIN32']],
      ['linux', ['linux', 'Linux']],
    ])(
      'every spelling of %s means it, in artifact and request (§13.8)',
      async (folded, spellings) => {
        const tenant = await tenantWithChannels(spellings.length);
        for (const [index, spelling] of spellings.entries()) {
          const channel = `c${index}`;
          await release(tenant, '1.1.0', { channel, artifacts: [artifact('a', spelling)] });
          const asked = spellings.map((platform) => file(tenant, [platform, 'x64'], channel));
          expect(await Promise.all(asked), spelling).toEqual(spellings.map(() => 'a'));
          const other = folded === 'darwin' ? 'windows' : 'darwin';
          expect(await file(tenant, [other, 'x64'], channel)).toBeNull();
        }
      },
    );
  });

  describe('targeting', () => {
    type Case = {
      readonly rule: string;
      readonly targets: Fields | null;
      /** Query strings, or more of the request, of devices that the release is for, and is not for. */
      readonly inside: readonly (string | (CheckOptions & { version?: string }))[];
      readonly outside: readonly (string | (CheckOptions & { version?: string }))[];
    };

    const on = (key: string, operator: string, ...values: string[]) => ({
      matchExpressions: [{ key, operator, ...(values.length === 0 ? {} : { values }) }],
    });

    const CASES: readonly Case[] = [
      { rule: 'null is for everybody', targets: null, inside: ['', 'l.tier=gold'], outside: [] },
      {
        rule: 'an empty object is for everybody',
        targets: {},
        inside: ['', 'l.tier=gold'],
        outside: [],
      },
      {
        rule: 'matchLabels holds for a value of the list',
        targets: { matchLabels: { tier: ['gold', 'silver'] } },
        inside: ['l.tier=gold', 'l.tier=silver', 'l.other=1&l.tier=gold'],
        outside: [
          '',
          'l.tier=bronze',
          'l.tier=',
          'l.tier=Gold',
          'l.Tier=gold',
          'l.tier=gold%20',
          'tier=gold',
        ],
      },
      {
        rule: 'all keys of matchLabels must hold',
        targets: { matchLabels: { tier: ['gold'], region: ['eu', 'us'] } },
        inside: ['l.tier=gold&l.region=us'],
        outside: ['l.tier=gold', 'l.region=eu', 'l.tier=gold&l.region=asia'],
      },
      {
        rule: 'matchLabels and matchExpressions are ANDed',
        targets: { matchLabels: { tier: ['gold'] }, ...on('blocked', 'DoesNotExist') },
        inside: ['l.tier=gold'],
        outside: ['', 'l.tier=gold&l.blocked=', 'l.blocked=1'],
      },
      {
        rule: 'several expressions are ANDed, also on one key',
        targets: {
          matchExpressions: [
            { key: 'ring', operator: 'Exists' },
            { key: 'ring', operator: 'NotIn', values: ['outer'] },
          ],
        },
        inside: ['l.ring=inner'],
        outside: ['', 'l.ring=outer'],
      },
      {
        rule: 'In',
        targets: on('tier', 'In', 'gold', ''),
        inside: ['l.tier=gold', 'l.tier='],
        outside: ['', 'l.tier=silver'],
      },
      {
        rule: 'NotIn fails closed without the label',
        targets: on('tier', 'NotIn', 'gold'),
        inside: ['l.tier=silver', 'l.tier='],
        outside: ['', 'l.tier=gold', 'l.other=1'],
      },
      {
        rule: 'Exists holds for any value, also the empty one',
        targets: on('tier', 'Exists'),
        inside: ['l.tier=gold', 'l.tier=', 'l.tier'],
        outside: ['', 'l.tiers=1'],
      },
      {
        rule: 'DoesNotExist holds only without the label',
        targets: on('tier', 'DoesNotExist'),
        inside: ['', 'l.other=1'],
        outside: ['l.tier=gold', 'l.tier='],
      },
      {
        rule: 'VersionGte compares semver-aware and includes the bound',
        targets: on('$version', 'VersionGte', '1.9'),
        inside: [
          { version: '1.9.0' },
          { version: 'v1.10' },
          { version: '1.9.0.1' },
          { version: '1.9.0+1' },
        ],
        outside: [{ version: '1.8.9' }, { version: '1.9.0-rc.1' }, { version: '1.2.0' }],
      },
      {
        rule: 'VersionLt compares semver-aware and excludes the bound',
        targets: on('$version', 'VersionLt', '1.9.0'),
        inside: [{ version: '1.8.9' }, { version: '1.9.0-rc.1' }, { version: '1.2.0' }],
        outside: [
          { version: '1.9.0' },
          { version: '1.9' },
          { version: '1.10.0' },
          { version: '1.9.0+1' },
        ],
      },
      {
        rule: 'VersionGte and VersionLt make a range',
        targets: {
          matchExpressions: [
            { key: '$version', operator: 'VersionGte', values: ['1.2.0'] },
            { key: '$version', operator: 'VersionLt', values: ['2.0.0'] },
          ],
        },
        inside: [{ version: '1.2.0' }, { version: '1.99.0' }],
        outside: [{ version: '1.1.9' }, { version: '2.0.0' }],
      },
      {
        rule: '$version In means equal versions, however spelled',
        targets: on('$version', 'In', 'v1.2', '1.3.0+5'),
        inside: [{ version: '1.2.0' }, { version: '01.2' }, { version: '1.3.0+5' }],
        outside: [{ version: '1.2.1' }, { version: '1.3.0' }],
      },
      {
        rule: '$version NotIn means other versions',
        targets: on('$version', 'NotIn', '1.2.0'),
        inside: [{ version: '1.2.1' }],
        outside: [{ version: 'v1.2' }],
      },
      {
        rule: '$platform compares after alias folding',
        targets: on('$platform', 'In', 'macOS', 'win32'),
        inside: [{ platform: 'darwin' }, { platform: 'OSX' }, { platform: 'windows' }],
        outside: [{ platform: 'linux' }],
      },
      {
        rule: '$platform NotIn compares after alias folding',
        targets: on('$platform', 'NotIn', 'mac'),
        inside: [{ platform: 'linux' }],
        outside: [{ platform: 'darwin' }],
      },
      {
        rule: '$arch compares after alias folding',
        targets: on('$arch', 'In', 'AMD64', 'x86'),
        inside: [{ arch: 'x86_64' }, { arch: 'x64' }, { arch: 'i386' }],
        outside: [{ arch: 'aarch64' }, { arch: 'x86-64' }],
      },
      {
        rule: 'reserved fields are always there on an update check',
        targets: {
          matchExpressions: ['$version', '$platform', '$arch'].map((key) => ({
            key,
            operator: 'Exists',
          })),
        },
        inside: [''],
        outside: [],
      },
      {
        rule: '$arch DoesNotExist is for nobody here',
        targets: on('$arch', 'DoesNotExist'),
        inside: [],
        outside: [''],
      },
      {
        rule: 'a label does not stand for a reserved field of the same name',
        targets: on('$platform', 'In', 'darwin'),
        inside: [],
        outside: ['l.platform=darwin', 'l.version=9'],
      },
      {
        rule: 'keys and values are UTF-8, percent-encoded in the query',
        targets: { matchLabels: { 'größe & 🚀': ['a=b&c', 'ß'] } },
        inside: [encoded('größe & 🚀', 'a=b&c'), encoded('größe & 🚀', 'ß')],
        outside: [encoded('größe & 🚀', 'ss'), encoded('grösse & 🚀', 'ß')],
      },
      {
        rule: 'keys that are names of object internals are labels like any other',
        targets: JSON.parse('{"matchLabels":{"__proto__":["x"],"constructor":["y"]}}') as Fields,
        inside: ['l.__proto__=x&l.constructor=y'],
        outside: ['', 'l.__proto__=x', 'l.constructor=y', 'l.__proto__=y&l.constructor=y'],
      },
      {
        rule: 'of a repeated key the last value counts',
        targets: { matchLabels: { tier: ['gold'] } },
        inside: ['l.tier=bronze&l.tier=gold'],
        outside: ['l.tier=gold&l.tier=bronze'],
      },
    ];

    it.each(CASES)('$rule (§2.3, §13.9)', async ({ targets, inside, outside }) => {
      const tenant = await createTenant(node);
      const artifacts = ['linux', 'darwin', 'windows'].map((platform) => artifact('a', platform));
      await release(tenant, '9.0.0', { artifacts, targets });
      const askFor = (each: Case['inside'][number]) =>
        ask(tenant, typeof each === 'string' ? { query: each } : each);
      for (const each of inside) expect(await askFor(each), JSON.stringify(each)).not.toBeNull();
      for (const each of outside) expect(await askFor(each), JSON.stringify(each)).toBeNull();
    });

    it('devices a release is not for fall through to the next eligible one (§3.8, §13.4)', async () => {
      const tenant = await createTenant(node);
      await release(tenant, '1.1.0', {});
      await release(tenant, '1.2.0', { targets: { matchLabels: { ring: ['outer', 'inner'] } } });
      await release(tenant, '1.3.0', { targets: { matchLabels: { ring: ['inner'] } } });
      expect(await ask(tenant, { query: 'l.ring=inner' })).toMatchObject({ version: '1.3.0' });
      expect(await ask(tenant, { query: 'l.ring=outer' })).toMatchObject({ version: '1.2.0' });
      expect(await ask(tenant)).toMatchObject({ version: '1.1.0' });
    });

    it('targeting does not widen a cohort: both must hold (§13.4)', async () => {
      const tenant = await createTenant(node);
      const targets = { matchLabels: { ring: ['inner'] } };
      await release(tenant, '1.1.0', { targets, rollout: 0 });
      expect(await ask(tenant, { query: 'l.ring=inner' })).toBeNull();
    });

    it('a labelled check without a device id is targeted by its labels (§13.11)', async () => {
      const tenant = await createTenant(node);
      await release(tenant, '1.1.0', { targets: { matchLabels: { ring: ['inner'] } } });
      expect((await check(node, tenant, '1.0.0', { query: 'l.ring=inner' })).status).toBe(200);
      expect((await check(node, tenant, '1.0.0')).status).toBe(204);
    });

    it('serving control changes whom a release is for at once, and null clears it (§4.3)', async () => {
      const tenant = await createTenant(node);
      await release(tenant, '1.1.0', { targets: { matchLabels: { ring: ['inner'] } } });
      expect(await ask(tenant, { query: 'l.ring=outer' })).toBeNull();
      const wider = { matchLabels: { ring: ['inner', 'outer'] } };
      expect((await control(node, tenant, '1.1.0', { targets: wider })).status).toBe(200);
      expect(await ask(tenant, { query: 'l.ring=outer' })).not.toBeNull();
      expect((await control(node, tenant, '1.1.0', { targets: null })).status).toBe(200);
      expect(await ask(tenant)).not.toBeNull();
    });
  });

  /** A tenant whose app has channels c0, c1, … of its own. */
  async function tenantWithChannels(count: number): Promise<Tenant> {
    const tenant = await createTenant(node);
    for (let index = 0; index < count; index++) {
      const body = { app: tenant.app, name: `c${index}` };
      expect((await admin(node, 'POST', 'channels', body)).status).toBe(201);
    }
    return tenant;
  }
});

function artifact(name: string, platform: string, arch?: string): Fields {
  const url = `https://downloads.example.com/${name}`;
  return arch === undefined ? { platform, url } : { platform, arch, url };
}

function signed(name: string, platform: string, arch?: string): Fields {
  return { ...artifact(name, platform, arch), signature: 'c2lnbmF0dXJl' };
}

function encoded(key: string, value: string): string {
  return `${encodeURIComponent(`l.${key}`)}=${encodeURIComponent(value)}`;
}
