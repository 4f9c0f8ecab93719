// Tests what another reading of the rules (decide-naively.test.ts) leaves open of decisions: the reason where
// nothing is offered, what a plan needs (docs/contract.md 13.1 to 13.5), and the words of an explanation.
// That one comes to the same decision, over every release on the way, is tested in decision-rules.test.ts.

import { describe, expect, it } from 'vitest';
import type { Catalog } from '../../../src/domain/decision/catalog.ts';
import { cohortBucket, cohortThreshold, hashText } from '../../../src/domain/decision/cohort.ts';
import { decide } from '../../../src/domain/decision/decide.ts';
import { explain } from '../../../src/domain/decision/explain.ts';
import type { SnapshotRelease } from '../../../src/domain/decision/serving-snapshot.ts';
import { catalog, device, fields, planOf, release, targeting } from '../sample.ts';

type Row = [version: string, releases: readonly SnapshotRelease[], answer: string];

/**
 * Plans and decides like a check of a device, without an id for ``. Returns the reason, or the version, with
 * `↓` for a downgrade.
 */
function answerOf(served: Catalog, text: string, id = 'device-1'): string {
  const plan = planOf(served, fields(text));
  const { reason, candidate } = decide(plan, device(id === '' ? undefined : id));
  const down = plan.allowDowngrade ? '↓' : '';
  return candidate === undefined ? reason : `${candidate.release.source.version}${down}`;
}

const TIER_A = targeting({ matchLabels: { tier: ['a'] } });
const rolledBack = release('1.1.0', { status: 'rolled_back' });
const notTargeted = release('1.0.0', { targets: TIER_A });
const followed = { followed: true };
describe('a decision', () => {
  it.each<Row>([
    ['1.2.0', [release('1.2.0')], 'up-to-date'],
    ['1.0.0', [], 'up-to-date'],
    ['1.0.0', [release('2.0.0', { status: 'paused' })], 'up-to-date'],
    ['1.1.0+1', [release('1.0.0'), rolledBack], 'up-to-date'],
    ['1.1.0', [rolledBack, release('1.2.0')], 'rolled-back-without-fallback'],
    ['1.1.0', [notTargeted, rolledBack], 'not-targeted'],
    ['0.1', [notTargeted, release('2.0.0', { rolloutPct: 0 })], 'outside-cohort'],
    ['0.1', [release('2.0.0', { rolloutPct: 0 }), notTargeted], 'outside-cohort'],
    ['0.1', [notTargeted], 'not-targeted'],
    ['0.1', [release('2.0.0', { artifacts: [{ platform: 'windows' }] })], 'no-artifact'],
    // Releases of a followed channel are decided over like the channel's own (§11.19).
    ['1.0.0', [release('1.3.0-rc.1'), release('1.2.0', followed)], '1.3.0-rc.1'],
    ['1.3.0-rc.1', [release('1.3.0-rc.1'), release('1.3.0', followed)], '1.3.0'],
    ['1.3.0', [release('1.4.0', { ...followed, status: 'paused' })], 'up-to-date'],
    ['1.1.0', [release('1.0.0', followed), { ...rolledBack, ...followed }], '1.0.0↓'],
    ['1.0.0', [release('1.1.0', { ...followed, targets: TIER_A })], 'not-targeted'],
  ])('case %#: for a device on %s', (version, releases, answer) => {
    expect(answerOf(catalog(releases), version)).toBe(answer);
  });

  it('without a device id is for releases at 100 % only (§13.7)', () => {
    const served = catalog([release('1.0.0'), release('2.0.0', { rolloutPct: 99 })]);
    expect(answerOf(served, '0.1', '')).toBe('1.0.0');
    expect(answerOf(served, '1.0.0', '')).toBe('outside-cohort');
  });
});

describe('a plan', () => {
  it('names the labels that its candidates need', () => {
    const served = catalog([notTargeted, release('3.0.0', { rolloutPct: 10 })]);
    expect(planOf(served, fields('0.1')).labelKeys).toEqual(['tier']);
    expect(planOf(served, fields('1.0.0')).labelKeys).toEqual([]);
  });
});

function deviceIn(bucket: number, bucketOf: (id: string) => number): string {
  for (let at = 0; at < 200_000; at++)
    if (bucketOf(`device-${at}`) === bucket) return `device-${at}`;
  throw new Error('no device in that bucket');
}

describe('the explanation of a decision', () => {
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
    expect(detailOf('1.7.0')).toBe('It has no artifact for linux/x86_64.');
    expect(detailOf('1.5.0')).toContain('label ring must be one of beta, dev, and is all');
  });

  it('tells the bucket of the device and the threshold of the release, which decide', () => {
    const served = catalog([release('1.1.0', { rolloutPct: 30 })]);
    const ids = Array.from({ length: 50 }, (_, index) => `device-${index}`);
    // The last of buckets 0 to 2,999, and the first beyond.
    const bucketOf = (id: string) => cohortBucket(hashText(id), hashText('rel-1.1.0'));
    const edges = [2999, 3000].map((bucket) => deviceIn(bucket, bucketOf));
    for (const id of [...ids, ...edges]) {
      const plan = planOf(served, fields('1.0.0'));
      const [candidate] = explain(plan, device(id)).candidates;
      const bucket = bucketOf(id);
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
