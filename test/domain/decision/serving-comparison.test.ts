// Tests the comparison of two states of a channel (docs/contract.md 33.11): what it rules out, the decision
// itself never does, for any device and any updater; and what it rules out of the changes that settings make.

import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { Artifact, DeviceClient } from '../../../src/contract/resource.ts';
import type { Catalog } from '../../../src/domain/decision/catalog.ts';
import { choose } from '../../../src/domain/decision/decide.ts';
import { planUpdate } from '../../../src/domain/decision/plan.ts';
import { mayReachFurther, servesBeside } from '../../../src/domain/decision/serving-comparison.ts';
import type {
  ServingSnapshot,
  SnapshotRelease,
} from '../../../src/domain/decision/serving-snapshot.ts';
import { installableBy } from '../../../src/updater/installable-by.ts';
import { IS_FULL } from '../../support/full-run.ts';
import {
  anyLabels,
  anyReleases,
  catalog,
  device,
  fields,
  LADDER,
  release,
  version,
} from '../sample.ts';

/** Least number of cases of each kind that must have come up. */
const SEEN_MIN = 10;

const RUNNING = [...LADDER, '0.9', '1.0.0.5', '1.0.5', '2.5', '4.0'];

const anyArtifact: fc.Arbitrary<Artifact> = fc
  .record({
    platform: fc.constantFrom('linux', 'linux', 'windows', 'darwin'),
    arch: fc.constantFrom('x86_64', 'arm64', 'universal', undefined),
    file: fc.constantFrom('a.AppImage', 'a.deb', 'a.zip', 'setup.exe', 'a-1.0.0-full.nupkg', 'a'),
    signature: fc.constantFrom('signed', undefined),
  })
  .map(({ platform, arch, file, signature }) => ({
    ...{ platform, url: `https://dl.example.com/${file}`, size: 9 },
    ...{ sha1: 'a'.repeat(40), sha256: 'b'.repeat(64), sha512: 'c'.repeat(88) },
    ...(arch && { arch }),
    ...(signature && { signature }),
  }));

const releasesOf = (minLength: number) =>
  anyReleases(
    {
      status: fc.constantFrom('published', 'published', 'published', 'rolled_back', 'deprecated'),
      rolloutPct: fc.constantFrom(0, 50, 100, 100, 100),
      artifacts: fc.array(anyArtifact, { maxLength: 3 }),
    },
    { minLength, maxLength: 6 },
  );

const anyPolicy = fc.record({
  minimumSupportedVersion: fc.constantFrom(null, null, '1.0.0', '1.0.5', '2.0.0'),
  requireSignature: fc.boolean(),
});

/** What becomes of the releases: all stay, the highest or others go, and now and then one comes. */
const anyChange = fc.record({
  kept: fc.oneof(
    fc.constant('all' as const),
    fc.constant('highest' as const),
    fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
  ),
  count: fc.nat(6),
  added: fc.oneof({ weight: 3, arbitrary: fc.constant<SnapshotRelease[]>([]) }, releasesOf(0)),
});

type Change = typeof anyChange extends fc.Arbitrary<infer Value> ? Value : never;

function changed(releases: readonly SnapshotRelease[], { kept, count, added }: Change) {
  const ordered = catalog(releases).compiled.flatMap((each) => each ?? []);
  ordered.sort(
    (left, right) => LADDER.indexOf(right.source.version) - LADDER.indexOf(left.source.version),
  );
  const left = ordered
    .map(({ source }) => source)
    .filter((_, at) => {
      if (kept === 'all') return true;
      return kept === 'highest' ? at < count : kept[at];
    });
  const names = new Set(added.map((each) => each.version));
  return [...left.filter((each) => !names.has(each.version)), ...added];
}

const anyAsking = fc.record({
  running: fc.constantFrom(...RUNNING, undefined),
  platform: fc.constantFrom('linux', 'windows', 'darwin'),
  arch: fc.constantFrom('x86_64', 'arm64', 'riscv64', undefined),
  client: fc.constantFrom<DeviceClient>('u', 'u', 'tauri', 'e', 'squirrel', 'velopack', 'sparkle'),
  bundle: fc.constantFrom(null, 'appimage', 'deb', 'nsis', 'nupkg', 'zip', 'snap'),
  who: fc
    .tuple(fc.constantFrom('d1', 'd2', 'd3', 'd4', undefined), anyLabels)
    .map(([id, labels]) => device(id, Object.fromEntries(labels))),
});

type Asking = typeof anyAsking extends fc.Arbitrary<infer Value> ? Value : never;

/** Returns the id of the release that a device is offered, and whether it must install it. */
function answerOf(served: Catalog, { running, platform, arch, client, bundle, who }: Asking) {
  const machine = { ...fields('1.0.0', platform, arch) };
  const asked = { ...machine, version: running === undefined ? undefined : version(running) };
  const plan = planUpdate(served, asked, installableBy(served, { client, bundle, machine }));
  const choice = choose(plan, who);
  return typeof choice === 'string'
    ? undefined
    : { id: choice.release.source.id, isRequired: plan.isRequired };
}

it('where it rules a difference out, no device is offered or required what it was not', () => {
  const seen = { ruledOut: 0, offered: 0, lost: 0, wider: 0 };
  fc.assert(
    fc.property(
      ...[releasesOf(1), anyChange, anyPolicy, anyPolicy, fc.boolean()],
      fc.array(anyAsking, { minLength: 20, maxLength: 20 }),
      (releases, change, was, is, isSamePolicy, askings) => {
        const before = catalog(releases, was);
        const after = catalog(changed(releases, change), isSamePolicy ? was : is);
        if (mayReachFurther(before, after)) {
          seen.wider += 1;
          return;
        }
        seen.ruledOut += 1;
        for (const asking of askings) {
          const [then, now] = [answerOf(before, asking), answerOf(after, asking)];
          if (now === undefined) {
            if (then !== undefined) seen.lost += 1;
            continue;
          }
          seen.offered += 1;
          expect(then?.id).toBe(now.id);
          if (now.isRequired) expect(then?.isRequired).toBe(true);
        }
      },
    ),
    { numRuns: IS_FULL ? 4000 : 800 },
  );
  expect(Math.min(...Object.values(seen)), JSON.stringify(seen)).toBeGreaterThan(SEEN_MIN);
});

describe('a device may get more', () => {
  const signed = { platform: 'linux', url: 'https://dl.example.com/a', signature: 's' };
  const two = release('2.0.0', { artifacts: [signed] });
  const [three, one] = [release('3.0.0'), release('1.0.0', { artifacts: [signed] })];
  const partly = release('3.0.0', {
    artifacts: [signed, { platform: 'linux', url: 'https://dl.example.com/a.deb' }],
  });
  const packed = release('1.0.0', {
    artifacts: [{ ...signed, url: 'https://dl.example.com/a.deb' }],
  });
  const goneAt = (text: string) => release(text, { status: 'rolled_back' });
  const gone = goneAt('5.0.0');
  const old = release('0.5.0', { status: 'deprecated' });

  type State = [releases: readonly SnapshotRelease[], policy?: Partial<ServingSnapshot>];
  const signatures = { requireSignature: true };
  const minimum = (text: string | null) => ({ minimumSupportedVersion: text });
  const LEAST = minimum('1.0.0');
  const cases: [title: string, before: State, after: State, boolean][] = [
    ['nothing changes', [[two, one]], [[two, one]], false],
    ['a higher release comes', [[two]], [[three, two]], true],
    ['a lower release comes', [[three, two]], [[three, two, one]], true],
    ['the highest release goes', [[three, two]], [[two]], true],
    ['a rolled-back version comes', [[two]], [[gone, two]], true],
    ['a deprecated version comes', [[two]], [[two, old]], true],
    ['the minimum is set', [[two]], [[two], minimum('1.0.0')], true],
    ['signatures are no longer required', [[three], signatures], [[three]], true],
    ['one at 0 % comes', [[two]], [[release('3.0.0', { rolloutPct: 0 }), two]], false],
    ['a paused one comes', [[two]], [[release('3.0.0', { status: 'paused' }), two]], false],
    ['the lowest releases go', [[three, two, one]], [[three]], false],
    ['all releases go', [[three, two]], [[]], false],
    ['the highest of all goes, with those below', [[three, two]], [[]], false],
    ['a release is another one', [[two]], [[release('2.0.0', { notes: 'New.' })]], true],
    ['a rolled-back version comes below all', [[two]], [[goneAt('0.1.0'), two]], false],
    ['a rolled-back version goes', [[gone, two]], [[two]], false],
    ['a rolled-back version below others goes', [[goneAt('1.5.0'), two]], [[two]], true],
    ['a deprecated version goes', [[two, old]], [[two]], false],
    ['one comes that is required anyway', [[two], LEAST], [[two, old], LEAST], false],
    ['the minimum rises', [[two], minimum('1.0.0')], [[two], minimum('1.0.1')], true],
    ['the minimum falls', [[two], minimum('1.0.1')], [[two], minimum('1.0.0')], false],
    ['the minimum is spelled otherwise', [[two], minimum('1.0')], [[two], minimum('1.0.0')], false],
    ['the minimum goes', [[two], minimum('1.0.0')], [[two], minimum(null)], false],
    ['updates are recommended', [[two]], [[two], { updateMode: 'recommended' }], false],
    ['signatures are required of signed ones', [[two, one]], [[two, one], signatures], false],
    ['signatures are required of the highest', [[three, two]], [[three, two], signatures], true],
    ['signatures are required of a kind', [[partly, one]], [[partly, one], signatures], false],
    [
      'they are of one that a lower one has',
      [[partly, packed]],
      [[partly, packed], signatures],
      true,
    ],
    ['signatures never mattered', [[two], signatures], [[two]], false],
  ];
  test.each(cases)('%s', (_, before, after, expected) => {
    expect(mayReachFurther(catalog(...before), catalog(...after))).toBe(expected);
  });
});

describe('a channel that is followed from now on serves what the follower does not', () => {
  const own = catalog([release('1.0.0'), release('66.0.0', { status: 'paused' })]);
  const other = (text: string, parts: Partial<SnapshotRelease> = {}) =>
    catalog([release(text, { id: `other-${text}`, ...parts })]);
  const cases: [title: string, Catalog, planned: string[], boolean][] = [
    ['a release', other('0.5.0'), [], true],
    ['one that a paused release of the follower hides', other('66.0.0'), [], true],
    ['one at 0 %', other('2.0.0', { rolloutPct: 0 }), [], false],
    ['one at 0 % with a plan', other('2.0.0', { rolloutPct: 0 }), ['other-2.0.0'], true],
    ['a paused one with a plan', other('2.0.0', { status: 'paused' }), ['other-2.0.0'], true],
    ['one of a third channel', other('2.0.0', { followed: true }), [], false],
    ['the same', catalog([release('1.0.0')]), [], false],
    ['none', catalog([]), [], false],
  ];
  test.each(cases)('%s', (_, followed, planned, expected) => {
    expect(servesBeside(own, followed, new Set(planned))).toBe(expected);
  });
});
