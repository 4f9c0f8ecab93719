// Tests staged rollouts as devices see them (docs/contract.md 3.8 and 13.7), and whole random catalogs: a
// running node answers what the domain decides from the state that the API lists. What it decides is tested
// in test/domain/decision.

import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { RELEASE_STATUSES } from '../../src/contract/choice.ts';
import type { Artifact, Release, Targeting } from '../../src/contract/resource.ts';
import { foldPlatform } from '../../src/domain/decision/artifact/artifact.ts';
import { foldArch } from '../../src/domain/decision/artifact/fold-arch.ts';
import { type Catalog, compileCatalog } from '../../src/domain/decision/catalog.ts';
import { cohortBucket, cohortThreshold, hashText } from '../../src/domain/decision/cohort.ts';
import { decide } from '../../src/domain/decision/decide.ts';
import { manifestOf } from '../../src/updater/manifest.ts';
import { anyLabels, anyTargeting, device, planOf, snapshot, version } from '../domain/sample.ts';
import { IS_WHOLE_MATRIX } from '../support/matrix.ts';
import { release, serve, setChannel, tenantWith } from '../support/released.ts';
import { deviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  type CheckOptions,
  check,
  createTenant,
  decisions,
  manage,
  type Tenant,
} from '../support/tenant.ts';

const DEVICES = Array.from({ length: 60 }, () => randomUUID());
/** Questions to each random catalog. */
const QUESTIONS = IS_WHOLE_MATRIX ? 300 : 100;
const GROUP_SIZE = 20;

deviceSuite('update check: cohorts', (node) => {
  /** Returns the version that a device is offered, or null for 204. */
  async function ask(tenant: Tenant, options: CheckOptions = {}): Promise<string | null> {
    return versionOf(await check(node, tenant, '1.0.0', options));
  }

  /** An app with one staged release, and the release's id. */
  async function staged(rollout: number) {
    const tenant = await createTenant(node);
    const { id } = await release(node, tenant, '1.1.0', { rollout });
    return { tenant, id: String(id) };
  }

  /** Returns the devices that are offered 1.1.0. */
  async function offered(tenant: Tenant): Promise<string[]> {
    const answers = await inGroups(DEVICES, (each) => ask(tenant, { device: each }));
    return DEVICES.filter((_, index) => answers[index] === '1.1.0');
  }

  it('a cohort is that of the domain: it grows with the rollout, and a pause leaves it (§3.8, §13.7)', async () => {
    const { tenant, id } = await staged(0);
    expect(await offered(tenant)).toEqual([]);
    expect(await ask(tenant)).toBeNull();
    for (const rollout of [10, 50]) {
      await serve(node, tenant, '1.1.0', { rollout });
      expect(await offered(tenant)).toEqual(DEVICES.filter((each) => isIn(id, rollout, each)));
    }
    await serve(node, tenant, '1.1.0', { status: 'paused' });
    expect(await offered(tenant)).toEqual([]);
    await serve(node, tenant, '1.1.0', { status: 'published' });
    expect(await offered(tenant)).toEqual(DEVICES.filter((each) => isIn(id, 50, each)));
    await serve(node, tenant, '1.1.0', { rollout: 100 });
    expect(await offered(tenant)).toEqual(DEVICES);
  });

  // A device gets the answer of its bucket only when the node hashes the very text that the test hashes.
  it('a device header is hashed as its UTF-8 text, one that is too long or blank counts as absent (§19.1)', async () => {
    const { tenant, id } = await staged(50);
    for (const make of [
      (serial: number) => `${serial}`,
      (serial: number) => `${serial}`.padEnd(128, 'x'),
      (serial: number) => `gerät-${serial}-größe`,
      (serial: number) => `x日本-${serial}-🚀x`,
      (serial: number) => `${serial}${'🚀'.repeat(126 - `${serial}`.length)}xx`,
      (serial: number) => `my "device", ${serial}; (blue)`,
    ]) {
      // From 1: the id `0` is one that many devices share (§19.10).
      const ids = Array.from({ length: 24 }, (_each, index) => make(index + 1));
      const answers = await Promise.all(ids.map((each) => ask(tenant, { device: onWire(each) })));
      expect(answers).toEqual(ids.map((each) => (isIn(id, 50, each) ? '1.1.0' : null)));
      expect(new Set(answers).size).toBe(2);
    }
    const below = await tenantWith(node, ['1.1.0'], ['1.2.0', { rollout: 99 }]);
    for (const text of ['', '   ', 'x'.repeat(129), `x${'ä'.repeat(127)}x`]) {
      expect([text, await ask(below, { device: onWire(text) })]).toEqual([text, '1.1.0']);
    }
  });

  it('checks and waves are answered what the domain decides from the listed state, for any catalog and device (§4.6, §4.7, §13)', async () => {
    const seen = { 'no offer': 0, update: 0, downgrade: 0 };
    await fc.assert(
      fc.asyncProperty(anyChannel, anyQuestions, async (channel, questions) => {
        const tenant = await createTenant(node);
        await setUp(tenant, channel);
        const catalog = await listedCatalog(tenant, channel);
        const answers = await inGroups(questions, (asked) => put(tenant, asked));
        for (const [index, asked] of questions.entries()) {
          const expected = expectedText(catalog, asked);
          expect(answers[index], JSON.stringify(asked)).toEqual(expected);
          if (expected.text === '') seen['no offer'] += 1;
          else seen[expected.text.includes('allowDowngrade') ? 'downgrade' : 'update'] += 1;
        }
        // An edge tells labels to the service later than it answers.
        if (node.setUp !== 'edge') await expectWave(tenant, catalog, questions);
      }),
      // A smaller catalog would say little more, and each attempt at one takes seconds.
      { numRuns: 4, endOnFailure: true },
    );
    // The property proves something only when every kind of answer occurred.
    expect(Math.min(...Object.values(seen)), JSON.stringify(seen)).toBeGreaterThan(0);
  });

  async function setUp(tenant: Tenant, { releases, ...terms }: ChannelPlan): Promise<void> {
    await setChannel(node, tenant, terms);
    for (const { status, ...parts } of releases) {
      await release(node, tenant, parts.version, parts);
      await serve(node, tenant, parts.version, { status });
    }
  }

  /**
   * Returns the catalog that the API lists; targeting and the channel's policy, which it does not list, come
   * from the plan.
   */
  async function listedCatalog(tenant: Tenant, plan: ChannelPlan): Promise<Catalog> {
    const list = await manage(node, tenant, 'GET', `releases?app=${tenant.app}&per_page=100`);
    const { releases = [] } = (list.body ?? {}) as { releases?: Release[] };
    expect(releases.length).toBe(plan.releases.length);
    const { minimumSupportedVersion, updateMode } = plan;
    return compileCatalog(
      snapshot(
        releases.map((each) => ({
          ...each,
          edition: each.id,
          offered: true,
          followed: false,
          targets: plan.releases.find((made) => made.version === each.version)?.targets ?? null,
        })),
        { minimumSupportedVersion, updateMode },
      ),
    );
  }

  /** Expects that a wave for the devices, whose checks have told their labels, is decided as their checks. */
  async function expectWave(tenant: Tenant, catalog: Catalog, questions: readonly Question[]) {
    const identified = questions.filter(({ id }) => id !== undefined);
    const devices = identified.map(({ id, version, platform, arch }) => {
      return { deviceId: id, version, platform, arch };
    });
    const expected = identified.map((asked) => {
      const { text } = expectedText(catalog, asked);
      return { deviceId: asked.id, update: text === '' ? null : JSON.parse(text) };
    });
    for (const dryRun of [true, false]) {
      const { body } = await decisions(node, tenant, devices, { dryRun });
      expect(body?.decisions).toEqual(expected);
    }
  }

  async function put(tenant: Tenant, asked: Question) {
    const { id, labels, platform, arch } = asked;
    const { status, text } = await check(node, tenant, asked.version, {
      platform,
      arch,
      query: new URLSearchParams(
        [...labels].map(([key, value]): [string, string] => [`l.${key}`, value]),
      ).toString(),
      ...(id === undefined ? {} : { device: id }),
    });
    return { status, text };
  }
});

type ReleasePlan = Pick<Release, 'version' | 'status' | 'artifacts'> & {
  readonly rollout: number;
  readonly targets: Targeting | null;
};

type ChannelPlan = {
  readonly updateMode: 'optional' | 'recommended';
  readonly minimumSupportedVersion: string | null;
  readonly releases: readonly ReleasePlan[];
};

type Question = {
  readonly version: string;
  readonly platform: string;
  readonly arch: string;
  readonly id: string | undefined;
  readonly labels: ReadonlyMap<string, string>;
};

const LADDER = [
  '1.0.0-rc',
  '1.0.0',
  'v1.0.1',
  '1.1',
  '1.1.0.1',
  '1.1.0+7',
  '2.0.0-beta',
  '2.0.0',
  '2.0.1',
  '3',
];
const SPELLINGS = ['0.9', 'v1.0', '1.0.1', '1.1.0', '01.01.00+7', 'V2', '2.5.0', '3.0.0', '4'];
const OFTEN = ['published', 'published', 'rolled_back'] as const;

const anyArtifact: fc.Arbitrary<Artifact> = fc.record(
  {
    platform: fc.constantFrom('linux', 'Linux', 'macOS', 'darwin', 'win32'),
    arch: fc.constantFrom('x64', 'AMD64', 'arm64', 'universal'),
    signature: fc.constantFrom('c2ln', 'b3RoZXI='),
    sha512: fc.base64String({ minLength: 4, maxLength: 88 }),
    size: fc.nat(),
    url: fc.nat(999).map((serial) => `https://dl.example.com/${serial}`),
  },
  { requiredKeys: ['platform', 'url'] },
);

/** Releases in every catalog, so that in every run some devices go up, some down and some nowhere. */
const FIXED: readonly ReleasePlan[] = (['published', 'rolled_back'] as const).map((status) => ({
  version: status === 'published' ? '1.0.0' : '2.0.1',
  status,
  rollout: 100,
  targets: null,
  artifacts: [{ platform: 'linux', url: 'https://dl.example.com/fixed' }],
}));

const anyRelease: fc.Arbitrary<ReleasePlan> = fc.record({
  version: fc.constantFrom(
    ...LADDER.filter((text) => FIXED.every((each) => each.version !== text)),
  ),
  status: fc.constantFrom(...RELEASE_STATUSES, ...OFTEN, ...OFTEN),
  rollout: fc.constantFrom(0, 1, 30, 50, 99, ...[100, 100, 100]),
  targets: fc.oneof({ weight: 2, arbitrary: fc.constant(null) }, anyTargeting),
  artifacts: fc.array(anyArtifact, { maxLength: 6 }),
});

const anyChannel: fc.Arbitrary<ChannelPlan> = fc.record({
  updateMode: fc.constantFrom('optional' as const, 'recommended' as const),
  minimumSupportedVersion: fc.constantFrom(null, '1.0.1', 'v1.1'),
  releases: fc
    .uniqueArray(anyRelease, {
      minLength: 6,
      maxLength: 6,
      selector: (each) => each.version,
    })
    .map((releases) => [...releases, ...FIXED]),
});

const anyQuestions: fc.Arbitrary<Question[]> = fc.array(
  fc.record({
    version: fc.constantFrom(...LADDER, ...SPELLINGS),
    platform: fc.constantFrom('linux', 'linux', 'LINUX', 'osx', 'windows', 'haiku'),
    arch: fc.constantFrom('x86_64', 'x64', 'aarch64', 'riscv64', 'universal'),
    id: fc.oneof(
      { weight: 19, arbitrary: fc.uuid() },
      { weight: 1, arbitrary: fc.constant(undefined) },
    ),
    labels: anyLabels,
  }),
  { minLength: QUESTIONS, maxLength: QUESTIONS },
);

/** Returns the status and body that the domain decides for this device. */
function expectedText(catalog: Catalog, asked: Question): { status: number; text: string } {
  const platform = foldPlatform(asked.platform);
  const fields = {
    ...{ version: version(asked.version), platform },
    arch: foldArch(asked.arch, platform),
  };
  const plan = planOf(catalog, fields);
  const { candidate } = decide(plan, device(asked.id, Object.fromEntries(asked.labels)));
  if (candidate === undefined) return { status: 204, text: '' };
  return { status: 200, text: manifestOf(plan, candidate).toString('utf8') };
}

function versionOf({ status, text, body }: Answer): string | null {
  if (status === 204) return null;
  expect(status, text).toBe(200);
  return String(body?.version);
}

function isIn(releaseId: string, rollout: number, id: string): boolean {
  return cohortBucket(hashText(id), hashText(releaseId)) < cohortThreshold(rollout);
}

/** Header values leave as one byte per character: these characters are the text's UTF-8 bytes. */
function onWire(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** Works through a list in groups, so that a test does not open hundreds of connections at once. */
async function inGroups<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let start = 0; start < items.length; start += GROUP_SIZE) {
    results.push(...(await Promise.all(items.slice(start, start + GROUP_SIZE).map(work))));
  }
  return results;
}
