// Tests plan and decide against a naive second implementation, written straight from the rules
// (docs/contract.md 2.3 and 13.1 to 13.5), over random catalogs and devices, and with plans that many
// versions share.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Artifact, TargetExpression } from '../../../src/contract/resource.ts';
import { foldPlatform } from '../../../src/domain/decision/artifact/artifact.ts';
import { foldArch } from '../../../src/domain/decision/artifact/fold-arch.ts';
import { cohortBucket, hashText } from '../../../src/domain/decision/cohort.ts';
import { choose, commonChoice } from '../../../src/domain/decision/decide.ts';
import type {
  ServingSnapshot,
  SnapshotRelease,
} from '../../../src/domain/decision/serving-snapshot.ts';
import { compileTargeting } from '../../../src/domain/decision/targeting.ts';
import { compareVersions, parseVersion } from '../../../src/domain/decision/version.ts';
import { AppCounts } from '../../../src/observe/app-counts.ts';
import { CHECK_REASONS } from '../../../src/observe/label-values.ts';
import {
  CatalogSlot,
  checkQuery,
  checkScope,
  PlanBudget,
} from '../../../src/serving/catalog-slot.ts';
import { manifestOf, manifestQuestion } from '../../../src/updater/manifest.ts';
import { PROPERTY_RUNS } from '../../support/property-runs.ts';
import {
  ANY_ARCH,
  anyLabels,
  anyReleases,
  anyTargeting,
  catalog,
  device,
  fields,
  LADDER,
  matchesBoth,
  planOf,
  snapshot,
  version,
} from '../sample.ts';

type Question = {
  readonly version: string;
  readonly platform: string;
  readonly arch: string | undefined;
  readonly id: string | undefined;
  readonly labels: Record<string, string>;
  readonly excluded: readonly string[];
};

const BLANK = { platform: 'linux', arch: undefined, id: undefined, labels: {}, excluded: [] };
const OTHER_SPELLINGS = ['0.9', 'v1.0', '1.1', '01.00.01', 'v2', '3.0'];
/** Versions that no release has: two below all releases, two in between, and two above. */
const IN_BETWEEN = ['0.7', '0.8', '1.0.5', '1.0.6', '3.1', '3.2'];
const IDS = Array.from({ length: 12 }, (_, index) => `device-${index}`);

const anyArtifact: fc.Arbitrary<Artifact> = fc
  .tuple(
    fc.constantFrom('linux', 'macOS', 'darwin', 'win32'),
    fc.constantFrom(undefined, 'x64', 'amd64', 'arm64', 'universal'),
    fc.option(fc.constantFrom('sig', ''), { nil: undefined }),
    fc.nat(99),
  )
  .map(([platform, arch, signature, serial]) => ({
    platform,
    ...(arch === undefined ? {} : { arch }),
    ...(signature === undefined ? {} : { signature }),
    url: `https://dl.example.com/${serial}`,
  }));

const artifacts = fc.oneof(
  { weight: 3, arbitrary: fc.constant([ANY_ARCH]) },
  { weight: 1, arbitrary: fc.array(anyArtifact, { maxLength: 5 }) },
);

const anySnapshot: fc.Arbitrary<ServingSnapshot> = fc
  .record({
    releases: anyReleases({ artifacts }),
    updateMode: fc.constantFrom('optional' as const, 'recommended' as const),
    minimumSupportedVersion: fc.constantFrom(null, null, '1.0.1', 'v1.1'),
  })
  .map(({ releases, ...parts }) => snapshot(releases, parts));

const anyQuestions: fc.Arbitrary<Question[]> = fc.array(
  fc
    .record({
      version: fc.constantFrom(...LADDER, ...LADDER, ...OTHER_SPELLINGS, ...IN_BETWEEN),
      platform: fc.constantFrom(...['linux', 'linux', 'linux', 'linux'], 'osx', 'Windows', 'haiku'),
      arch: fc.constantFrom('x86_64', 'aarch64', 'riscv64', undefined),
      id: fc.constantFrom(...IDS, undefined),
      labels: anyLabels.map((labels) => Object.fromEntries(labels)),
      excludedCount: fc.nat(4),
    })
    .map(({ excludedCount, ...question }) => ({
      ...question,
      excluded: [...LADDER]
        .reverse()
        .slice(0, excludedCount)
        .map((text) => `rel-${text}`),
    })),
  { minLength: 1, maxLength: 12 },
);

describe('plan and decide', () => {
  it('target the devices that the rules say (§2.3)', () => {
    fc.assert(
      fc.property(anyTargeting, anyQuestions, (targets, questions) => {
        const compiled = compileTargeting(targets);
        for (const question of questions) {
          const labels = new Map(Object.entries(question.labels));
          const expected = isTargeted({ targets }, question);
          expect(matchesBoth(compiled, fieldsOf(question), labels)).toBe(expected);
        }
      }),
    );
  });

  it('what a plan says for all devices is what each of them is decided', () => {
    const seen = { offer: 0, nothing: 0, depends: 0 };
    fc.assert(
      fc.property(anySnapshot, anyQuestions, (served, questions) => {
        const built = catalog(served.releases, served);
        for (const question of questions) {
          const plan = planOf(built, fieldsOf(question));
          const common = commonChoice(plan);
          if (common === undefined) seen.depends += 1;
          else {
            expect(choose(plan, device(question.id, question.labels))).toBe(common);
            seen[typeof common === 'string' ? 'nothing' : 'offer'] += 1;
          }
        }
      }),
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(PROPERTY_RUNS / 10);
  });

  it('a plan that several versions share is that of each; those told apart by no catalog share one', () => {
    let shared = 0;
    fc.assert(
      fc.property(anySnapshot, anyQuestions, (served, questions) => {
        const slot = slotOf(served);
        for (const question of questions) {
          const { plan } = planIn(slot, question);
          const { catalog: built, fields: _, ...said } = plan;
          const own = planOf(built, fieldsOf(question));
          expect({ ...own, catalog: undefined, fields: undefined }).toEqual({
            ...said,
            catalog: undefined,
            fields: undefined,
          });
          if (plan.fields.version?.canonical !== version(question.version).canonical) shared += 1;
        }
        const [low, high] = ['0.1.0', '0.2.0'].map((text) => {
          return planIn(slot, { ...BLANK, version: text });
        });
        expect(low).toBe(high);
      }),
    );
    expect(shared).toBeGreaterThan(PROPERTY_RUNS / 15);
  });

  it('give the same release, artifact, updateMode and allowDowngrade, and go strictly down or up', () => {
    const seen = { up: 0, down: 0, nothing: 0 };
    fc.assert(
      fc.property(anySnapshot, anyQuestions, (served, questions) => {
        const slot = slotOf(served);
        const neverOffered = served.releases.filter((each) => !each.offered).map(({ id }) => id);
        for (const asked of questions) {
          // Only a release that was never offered can wait for its first offer.
          const excluded = asked.excluded.filter((id) => neverOffered.includes(id));
          const question = { ...asked, excluded };
          const expected = decideNaively(served, question);
          expect(ask(slot, question)).toEqual(expected);
          const step = stepOf(question.version, expected?.version);
          if (expected !== undefined) expect(step).toBe(expected.allowDowngrade ? 'down' : 'up');
          seen[step] += 1;
        }
      }),
    );
    // The property proves something only when every kind of answer occurred often.
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(PROPERTY_RUNS / 10);
  });
});

function slotOf(served: ServingSnapshot): CatalogSlot {
  const slot = new CatalogSlot(new PlanBudget(), new AppCounts(CHECK_REASONS));
  slot.replace(catalog(served.releases, served));
  return slot;
}

function fieldsOf({ version: text, platform, arch }: Question) {
  return { ...fields(text, platform), arch: foldArch(arch, '') };
}

function planIn(slot: CatalogSlot, { version: text, platform, arch }: Question) {
  const question = manifestQuestion(foldPlatform(platform), foldArch(arch, ''));
  const scope = checkScope('acme', 'stable', question);
  const prepared = slot.planFor(checkQuery(scope, version(text)));
  if (prepared === undefined) throw new Error('the slot has no catalog');
  return prepared;
}

/** Plans and decides like a check, and reads the answer from the finished bytes. */
function ask(slot: CatalogSlot, question: Question) {
  const who = device(question.id, question.labels);
  const excluded = question.excluded.length === 0 ? undefined : new Set(question.excluded);
  const { plan, candidate } = planIn(slot, question).decide(who, excluded);
  if (candidate === undefined) return undefined;
  const body = JSON.parse(manifestOf(plan, candidate).toString('utf8')) as Record<string, unknown>;
  return {
    version: String(body.version),
    url: body.url,
    updateMode: body.updateMode,
    allowDowngrade: body.allowDowngrade === true,
  };
}

function stepOf(from: string, to: string | undefined): 'up' | 'down' | 'nothing' {
  const [before, after] = [parseVersion(from), parseVersion(to ?? '')];
  if (before === undefined || after === undefined) return 'nothing';
  const order = compareVersions(after, before);
  if (order === 0) throw new Error('offered what the device runs');
  return order > 0 ? 'up' : 'down';
}

/**
 * Second implementation of the rules, one line each, without indexes, sorted lists and plans. It shares only
 * version order, the hash and alias folding with the product; those have tests of their own.
 */
function decideNaively(served: ServingSnapshot, question: Question) {
  const mine = version(question.version);
  const current = served.releases.find(
    (each) => version(each.version).canonical === mine.canonical,
  );
  const isDown = current?.status === 'rolled_back';
  const best = served.releases
    .filter((each) => each.status === 'published')
    .filter((each) => {
      const order = compareVersions(version(each.version), mine);
      return isDown ? order < 0 : order > 0;
    })
    .filter((each) => isTargeted(each, question))
    .filter((each) => isInCohort(each, question.id))
    .filter((each) => chooseArtifact(each.artifacts, question) !== undefined)
    .filter((each) => !question.excluded.includes(each.id))
    .sort((left, right) => compareVersions(version(right.version), version(left.version)))[0];
  if (best === undefined) return undefined;
  const minimum = served.minimumSupportedVersion;
  const isBelow = minimum !== null && compareVersions(mine, version(minimum)) < 0;
  const isRequired = isBelow || current?.status === 'deprecated';
  return {
    version: best.version,
    url: chooseArtifact(best.artifacts, question)?.url,
    updateMode: isRequired ? 'required' : served.updateMode,
    allowDowngrade: isDown,
  };
}

function isInCohort({ id, rolloutPct }: SnapshotRelease, deviceId: string | undefined): boolean {
  if (rolloutPct === 100) return true;
  if (deviceId === undefined) return false;
  return cohortBucket(hashText(deviceId), hashText(id)) < rolloutPct * 100;
}

/**
 * Returns the artifact for a device, by the order of the arches that suit it; of equals a signed one, then
 * the first.
 */
function chooseArtifact(artifacts: readonly Artifact[], question: Question): Artifact | undefined {
  const wishes =
    question.arch === undefined
      ? [undefined, 'universal']
      : [foldArch(question.arch, ''), 'universal', undefined];
  for (const wish of wishes) {
    const fitting = artifacts.filter(
      ({ platform, arch }) =>
        foldPlatform(platform) === foldPlatform(question.platform) &&
        (arch === undefined ? undefined : foldArch(arch, '')) === wish,
    );
    const chosen = fitting.find(({ signature }) => signature) ?? fitting[0];
    if (chosen !== undefined) return chosen;
  }
  return undefined;
}

function isTargeted({ targets }: Pick<SnapshotRelease, 'targets'>, question: Question): boolean {
  if (targets === null) return true;
  const labels = new Map(Object.entries(question.labels));
  const hasLabels = Object.entries(targets.matchLabels).every(([key, values]) => {
    const value = labels.get(key);
    return value !== undefined && values.includes(value);
  });
  return hasLabels && targets.matchExpressions.every((each) => holds(each, question, labels));
}

function holds(
  { key, operator, values }: TargetExpression,
  question: Question,
  labels: ReadonlyMap<string, string>,
): boolean {
  if (operator === 'VersionGte' || operator === 'VersionLt') {
    const order = compareVersions(version(question.version), version(values[0] ?? ''));
    return operator === 'VersionGte' ? order >= 0 : order < 0;
  }
  const { version: text, platform, arch } = question;
  type Resolved = readonly [given: string | undefined, fold: (each: string) => string];
  const reserved = new Map<string, Resolved>([
    ['$version', [text, (each) => version(each).canonical]],
    ['$platform', [platform, foldPlatform]],
    ['$arch', [arch, (each) => foldArch(each, '')]],
  ]);
  const [given, fold] = reserved.get(key) ?? [labels.get(key), (each) => each];
  if (operator === 'DoesNotExist') return given === undefined;
  if (given === undefined) return false;
  return operator === 'Exists' || values.map(fold).includes(fold(given)) === (operator === 'In');
}
