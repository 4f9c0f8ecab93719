// Tests the explanation of a decision: it comes to the same decision, and says why for every release passed
// over.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RELEASE_STATUSES } from '../../../src/contract/choice.ts';
import { foldArch } from '../../../src/domain/decision/artifact/fold-arch.ts';
import { cohortBucket, cohortThreshold, hashText } from '../../../src/domain/decision/cohort.ts';
import { decide } from '../../../src/domain/decision/decide.ts';
import { explain } from '../../../src/domain/decision/explain.ts';
import type { SnapshotRelease } from '../../../src/domain/decision/serving-snapshot.ts';
import { compareVersions } from '../../../src/domain/decision/version.ts';
import { PROPERTY_RUNS } from '../../support/property-runs.ts';
import {
  ANY_ARCH,
  anyLabels,
  anyTargeting,
  catalog,
  device,
  fields,
  planOf,
  release,
  targeting,
  version,
} from '../sample.ts';

const OFTEN = ['published', 'published', 'published'] as const;
const LADDER = ['1.0.0-rc', '1.0.0', '1.0.1', '1.1.0', '1.1.0.1', '2.0.0-beta', '2.0.0', '3.0.0'];

const anyRelease: fc.Arbitrary<SnapshotRelease> = fc
  .record({
    version: fc.constantFrom(...LADDER),
    status: fc.constantFrom(...RELEASE_STATUSES, ...OFTEN),
    rolloutPct: fc.constantFrom(0, 1, 50, 99, 100, 100, 100),
    targets: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, anyTargeting),
    offered: fc.boolean(),
    artifacts: fc.constantFrom([ANY_ARCH], [ANY_ARCH], [{ platform: 'haiku' }], []),
  })
  .map(({ version: text, ...parts }) => release(text, parts));

const anyCatalog = fc.uniqueArray(anyRelease, {
  minLength: 2,
  maxLength: 8,
  selector: (each) => each.version,
});

const anyQuestion = fc.record({
  version: fc.constantFrom(...LADDER, '0.1.0', '9.0.0'),
  id: fc.constantFrom('d1', 'd2', 'd3', 'd4', undefined),
  labels: anyLabels.map((labels) => Object.fromEntries(labels)),
  excluded: fc.subarray(
    LADDER.map((text) => `rel-${text}`),
    { maxLength: 2 },
  ),
});

describe('the explanation of a decision', () => {
  it('is of the same decision: its reason, and the one offered, which comes last', () => {
    const seen = { offered: 0, refused: 0 };
    fc.assert(
      fc.property(anyCatalog, anyQuestion, (releases, question) => {
        const plan = planOf(catalog(releases), fields(question.version));
        const who = device(question.id, question.labels);
        const excluded = new Set(question.excluded);
        const decision = decide(plan, who, excluded);
        const { reason, candidates } = explain(plan, who, excluded);
        expect(reason).toBe(decision.reason);
        const offered = candidates.filter(({ verdict }) => verdict === 'offered');
        const expected = decision.candidate?.release.source.version;
        expect(offered.map((each) => each.version)).toEqual(
          expected === undefined ? [] : [expected],
        );
        if (expected !== undefined) expect(candidates.at(-1)?.version).toBe(expected);
        seen[expected === undefined ? 'refused' : 'offered'] += 1;
      }),
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(PROPERTY_RUNS / 10);
  });

  it('passes over every release on the way, highest first, whatever its status', () => {
    fc.assert(
      fc.property(anyCatalog, anyQuestion, (releases, question) => {
        const plan = planOf(catalog(releases), fields(question.version));
        const { candidates } = explain(plan, device(question.id, question.labels));
        const down = plan.allowDowngrade;
        const onTheWay = releases
          .map((each) => each.version)
          .filter((each) => {
            const order = compareVersions(version(each), version(question.version));
            return down ? order < 0 : order > 0;
          })
          .sort((left, right) => compareVersions(version(right), version(left)));
        const looked = candidates.map((each) => each.version);
        expect(looked).toEqual(onTheWay.slice(0, looked.length));
        if (candidates.at(-1)?.verdict !== 'offered') expect(looked).toEqual(onTheWay);
        for (const { detail } of candidates) expect(detail).toMatch(/^[A-Z].*\.$/s);
      }),
    );
  });

  it('names what kept each release away', () => {
    const served = catalog([
      release('2.0.0', { status: 'paused' }),
      release('1.9.0', { status: 'deprecated' }),
      release('1.8.0', { status: 'rolled_back' }),
      release('1.7.0', { artifacts: [{ platform: 'windows' }] }),
      release('1.6.0', { rolloutPct: 0 }),
      release('1.5.0', { targets: targeting({ matchLabels: { ring: ['beta', 'dev'] } }) }),
      release('1.4.0', { offered: false }),
      release('1.3.0'),
      release('1.2.0'),
    ]);
    const plan = planOf(served, fields('1.0.0', 'linux', 'x86_64'));
    const { candidates } = explain(plan, device('d1', { ring: 'all' }), new Set(['rel-1.4.0']));
    expect(candidates.map(({ version: text, verdict }) => `${text} ${verdict}`)).toEqual([
      '2.0.0 paused',
      '1.9.0 deprecated',
      '1.8.0 rolled-back',
      '1.7.0 no-artifact',
      '1.6.0 outside-cohort',
      '1.5.0 not-targeted',
      '1.4.0 first-offer-unavailable',
      '1.3.0 offered',
    ]);
    const detailOf = (text: string) => candidates.find((each) => each.version === text)?.detail;
    expect(detailOf('1.7.0')).toBe(`It has no artifact for linux/${foldArch('x86_64', 'linux')}.`);
    expect(detailOf('1.5.0')).toContain('label ring must be one of beta, dev, and is all');
  });

  it('tells the bucket of the device and the threshold of the release, which decide', () => {
    const served = catalog([release('1.1.0', { rolloutPct: 30 })]);
    for (const id of Array.from({ length: 50 }, (_, index) => `device-${index}`)) {
      const plan = planOf(served, fields('1.0.0'));
      const [candidate] = explain(plan, device(id)).candidates;
      const bucket = cohortBucket(hashText(id), hashText('rel-1.1.0'));
      expect(candidate).toMatchObject({ bucket, threshold: cohortThreshold(30) });
      expect(candidate?.verdict).toBe(bucket < 3000 ? 'offered' : 'outside-cohort');
    }
    const [unknown] = explain(planOf(served, fields('1.0.0')), device(undefined)).candidates;
    expect(JSON.stringify(unknown)).not.toContain('bucket');
    expect(unknown?.detail).toContain('without an id');
  });

  it.each([
    [
      { key: 'site', operator: 'NotIn', values: ['a'] },
      'label site must be set, and none of a, and is a',
    ],
    [{ key: 'site', operator: 'DoesNotExist', values: [] }, 'label site must not be set, and is a'],
    [{ key: 'none', operator: 'Exists', values: [] }, 'label none must be set, and is not set'],
    [
      { key: '$version', operator: 'VersionGte', values: ['1.0.5'] },
      'version must be at least 1.0.5, and is 1.0.0',
    ],
    [
      { key: '$platform', operator: 'In', values: ['macos'] },
      'platform must be one of macos, and is linux',
    ],
  ] as const)('says which condition is not met: %j', (expression, sentence) => {
    const targets = targeting({ matchExpressions: [expression] });
    const served = catalog([release('1.1.0', { targets })]);
    const { candidates } = explain(planOf(served, fields('1.0.0')), device('d', { site: 'a' }));
    expect(candidates[0]?.detail).toBe(
      `It is targeted, and this device does not match: ${sentence}.`,
    );
  });
});
