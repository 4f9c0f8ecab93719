// Tests the answers of decisions that another reading of the rules (decide-naively.test.ts) leaves open: the
// reason where nothing is offered, and what a plan needs (docs/contract.md 13.1 to 13.5).

import { describe, expect, it } from 'vitest';
import { foldArch } from '../../../src/domain/decision/artifact/fold-arch.ts';
import type { Catalog } from '../../../src/domain/decision/catalog.ts';
import { cohortBucket, hashText } from '../../../src/domain/decision/cohort.ts';
import { decide } from '../../../src/domain/decision/decide.ts';
import type { SnapshotRelease } from '../../../src/domain/decision/serving-snapshot.ts';
import { manifestOf } from '../../../src/updater/manifest.ts';
import { catalog, device, fields, planOf, release, targeting } from '../sample.ts';

type Ask = {
  readonly version: string;
  readonly platform?: string;
  readonly arch?: string | undefined;
  readonly id?: string | undefined;
  readonly excluded?: readonly string[];
};

type Row = [version: string, releases: readonly SnapshotRelease[], answer: string];

/** How an answer shows its update mode. */
const MARKS: Readonly<Record<string, string>> = { required: '!', recommended: '?', optional: '' };

/** Plans and decides like a check; returns the reason, or the version with marks: `↓` is a downgrade. */
function answerOf(served: Catalog, question: Ask): string {
  const { platform = 'linux', excluded = [] } = question;
  const arch = 'arch' in question ? question.arch : 'x86_64';
  const plan = planOf(served, {
    ...fields(question.version, platform),
    arch: foldArch(arch, platform),
  });
  const who = device('id' in question ? question.id : 'device-1');
  const { reason, candidate } = decide(plan, who, new Set(excluded));
  if (candidate === undefined) return reason;
  const body = JSON.parse(manifestOf(plan, candidate).toString('utf8')) as Record<string, string>;
  return `${body.version}${body.allowDowngrade ? '↓' : ''}${MARKS[body.updateMode ?? ''] ?? '-'}`;
}

const TIER_A = targeting({ matchLabels: { tier: ['a'] } });
const rolledBack = release('1.1.0', { status: 'rolled_back' });
const notTargeted = release('1.0.0', { targets: TIER_A });
const followed = { followed: true };
describe('a decision', () => {
  it.each<Row>([
    ['0.1', [release('1.0.0'), release('1.2.0')], '1.2.0'],
    ['1.2.0-rc.1', [release('1.2.0')], '1.2.0'],
    ['1.2.0', [release('1.2.0')], 'up-to-date'],
    ['1.2.0+1', [release('1.2.0')], 'up-to-date'],
    ['9.9', [release('1.2.0')], 'up-to-date'],
    ['1.0.0', [], 'up-to-date'],
    ['1.0.0', [release('2.0.0', { status: 'paused' })], 'up-to-date'],
    ['1.0.0', [release('2.0.0', { status: 'deprecated' })], 'up-to-date'],
    ['1.0.0', [release('2.0.0', { status: 'rolled_back' })], 'up-to-date'],
    ['1.0.0', [release('1.0.0', { status: 'deprecated' }), release('2.0.0')], '2.0.0!'],
    ['1.1.0', [release('0.9'), rolledBack, release('1.2.0')], '0.9↓'],
    ['1.1.0+1', [release('1.0.0'), rolledBack], 'up-to-date'],
    ['1.1.0', [rolledBack, release('1.2.0')], 'rolled-back-without-fallback'],
    ['1.1.0', [notTargeted, rolledBack], 'not-targeted'],
    ['0.1', [notTargeted, release('2.0.0', { rolloutPct: 0 })], 'outside-cohort'],
    ['0.1', [release('2.0.0', { rolloutPct: 0 }), notTargeted], 'outside-cohort'],
    ['0.1', [notTargeted], 'not-targeted'],
    ['0.1', [release('2.0.0', { artifacts: [{ platform: 'windows' }] })], 'no-artifact'],
    ['0.9', [release('1.0.0', { status: 'deprecated' }), release('1.1.0')], '1.1.0'],
    ['1.0.0', [release('1.0.0'), release('1.1.0')], '1.1.0'],
    // Releases of a followed channel are decided over like the channel's own (§11.19).
    ['1.0.0', [release('1.3.0-rc.1'), release('1.2.0', followed)], '1.3.0-rc.1'],
    ['1.3.0-rc.1', [release('1.3.0-rc.1'), release('1.3.0', followed)], '1.3.0'],
    ['1.3.0', [release('1.4.0', { ...followed, status: 'paused' })], 'up-to-date'],
    ['1.1.0', [release('1.0.0', followed), { ...rolledBack, ...followed }], '1.0.0↓'],
    ['1.0.0', [release('1.1.0', { ...followed, targets: TIER_A })], 'not-targeted'],
  ])('case %#: for a device on %s', (version, releases, answer) => {
    expect(answerOf(catalog(releases), { version })).toBe(answer);
  });

  it('without a device id is for releases at 100 % only (§13.7)', () => {
    const served = catalog([release('1.0.0'), release('2.0.0', { rolloutPct: 99 })]);
    expect(answerOf(served, { version: '0.1', id: undefined })).toBe('1.0.0');
    expect(answerOf(served, { version: '1.0.0', id: undefined })).toBe('outside-cohort');
  });

  it.each<[version: string, parts: Parameters<typeof catalog>[1], answer: string]>([
    ['1.0.0', {}, '2.0.0'],
    ['1.4.9', { updateMode: 'recommended', minimumSupportedVersion: '1.5' }, '2.0.0!'],
    ['1.5.0', { updateMode: 'recommended', minimumSupportedVersion: '1.5' }, '2.0.0?'],
    ['1.0.0', { minimumSupportedVersion: '1.1.0' }, '2.0.0!'],
  ])('has the terms of the channel: %s with %j gets %s (§13.5, §13.6)', (text, parts, answer) => {
    expect(answerOf(catalog([release('2.0.0')], parts), { version: text })).toBe(answer);
  });

  it('is for the same cohort on the channel of a release and on its followers (§11.19)', () => {
    const staged = release('1.2.0', { rolloutPct: 50 });
    const askedOf = (...releases: readonly SnapshotRelease[]) =>
      Array.from({ length: 25 }, (_, at) =>
        answerOf(catalog(releases), { version: '1.1.0', id: `device-${at}` }),
      );
    const own = askedOf(staged);
    expect(askedOf(release('1.1.0'), { ...staged, ...followed })).toEqual(own);
    expect(new Set(own)).toEqual(new Set(['1.2.0', 'outside-cohort']));
  });

  it('the cohort ends exactly at its threshold: of 10,000 buckets, 30 % are 0 to 2,999', () => {
    const staged = release('2.0.0', { rolloutPct: 30 });
    const bucketOf = (id: string) => cohortBucket(hashText(id), hashText(staged.id));
    const ids = Array.from({ length: 200_000 }, (_, index) => `device-${index}`);
    const answers = [2999, 3000].map((bucket) => {
      const id = ids.find((each) => bucketOf(each) === bucket);
      if (id === undefined) throw new Error('no device in that bucket');
      return answerOf(catalog([staged]), { version: '1.0.0', id });
    });
    expect(answers).toEqual(['2.0.0', 'outside-cohort']);
  });

  it('a release whose first offer cannot be made durable gives way to the next one', () => {
    const texts = ['6.0.0', '5.0.0', '4.0.0', '3.0.0', '2.0.0', '1.0.0'];
    const fresh = texts.map((text) => release(text, { offered: false }));
    for (let count = 0; count <= texts.length; count++) {
      const excluded = fresh.slice(0, count).map(({ id }) => id);
      const answer = answerOf(catalog(fresh), { version: '0.1', excluded });
      expect(answer).toBe(texts[count] ?? 'first-offer-unavailable');
    }
  });
});

describe('a plan', () => {
  it('names the labels that its candidates need', () => {
    const served = catalog([notTargeted, release('3.0.0', { rolloutPct: 10 })]);
    expect(planOf(served, fields('0.1')).labelKeys).toEqual(['tier']);
    expect(planOf(served, fields('1.0.0')).labelKeys).toEqual([]);
  });

  it('for archs that no artifact names shares one candidate list', () => {
    const served = catalog([release('2.0.0'), release('3.0.0', { targets: TIER_A })]);
    const archs = ['riscv64', 's390x', 'loong64'];
    const lists = archs.map((arch) => planOf(served, fields('1.0.0', 'linux', arch)).list);
    for (const list of lists) expect(list).toBe(lists[0]);
    expect([lists[0]?.length, served.candidates.size]).toEqual([2, 1]);
  });
});
