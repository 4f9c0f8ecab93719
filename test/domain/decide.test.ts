// Tests the decision rule by rule (docs/contract.md 13.1 to 13.5). That the rules hold together, for any
// catalog, is tested in decide-naively.test.ts.

import { describe, expect, it } from 'vitest';
import { RELEASE_STATUSES, type TargetExpression } from '../../src/contract/resource.ts';
import { foldArch } from '../../src/domain/decision/artifact.ts';
import type { ArtifactCandidate, Catalog } from '../../src/domain/decision/catalog.ts';
import { cohortBucket, cohortThreshold, hashText } from '../../src/domain/decision/cohort.ts';
import { type Decision, decide } from '../../src/domain/decision/decide.ts';
import type { Plan } from '../../src/domain/decision/plan.ts';
import type { ServingSnapshot } from '../../src/domain/decision/serving-snapshot.ts';
import { manifestOf } from '../../src/updater/manifest.ts';
import { catalog, device, fields, planOf, release, targeting } from './sample.ts';

type Ask = {
  readonly version: string;
  readonly platform?: string;
  readonly arch?: string | undefined;
  readonly id?: string | undefined;
  readonly labels?: Record<string, string>;
  readonly barred?: readonly string[];
};

type Answer =
  | { readonly reason: string; readonly version?: undefined }
  | {
      readonly reason: 'offered';
      readonly version: string;
      readonly updateMode: string;
      readonly allowDowngrade: boolean;
    };

/** Plans and decides like a check, and reads the answer from the finished bytes. */
function ask(served: Catalog, question: Ask): Answer {
  const { platform = 'linux', labels, barred = [] } = question;
  const arch = 'arch' in question ? question.arch : 'x86_64';
  const request = { ...fields(question.version, platform), arch: foldArch(arch) };
  const plan = planOf(served, request);
  const who = device('id' in question ? question.id : 'device-1', labels);
  const decision = decide(plan, who, new Set(barred));
  return answerOf(plan, decision);
}

function answerOf(plan: Plan, decision: Decision<ArtifactCandidate>): Answer {
  if (decision.candidate === undefined) return { reason: decision.reason };
  const body = JSON.parse(manifestOf(plan, decision.candidate).toString('utf8')) as Record<
    string,
    unknown
  >;
  return {
    reason: 'offered',
    version: String(body.version),
    updateMode: String(body.updateMode),
    allowDowngrade: body.allowDowngrade === true,
  };
}

/** Ids of devices that are in, and out of, a release's cohort at a percentage. */
function findDevices(releaseId: string, rolloutPct: number): { inside: string; outside: string } {
  const ids = Array.from({ length: 1000 }, (_, index) => `device-${index}`);
  const isIn = (id: string) =>
    cohortBucket(hashText(id), hashText(releaseId)) < cohortThreshold(rolloutPct);
  const [inside, outside] = [ids.find(isIn), ids.find((id) => !isIn(id))];
  if (inside === undefined || outside === undefined) throw new Error('no such device');
  return { inside, outside };
}

const TIER_A = targeting({ matchLabels: { tier: ['a'] } });

type Row = readonly [question: string | Ask, answer: string];

/** Expects answers: a reason, or a version with `↓` where it is a downgrade, and `!` where it is required. */
function expectAnswers(served: Catalog, rows: readonly Row[]): void {
  for (const [question, expected] of rows) {
    const answer = ask(served, typeof question === 'string' ? { version: question } : question);
    const shown =
      answer.version === undefined
        ? answer.reason
        : `${answer.version}${answer.allowDowngrade ? '↓' : ''}${MARKS[answer.updateMode] ?? ''}`;
    expect([question, shown]).toEqual([question, expected]);
  }
}

/** How an answer shows its update mode. */
const MARKS: Readonly<Record<string, string>> = { required: '!', recommended: '?', optional: '' };

describe('3: the candidates are the published releases above the device’s version, highest first', () => {
  it('the highest one is offered; a device at or above it is up to date', () => {
    expectAnswers(catalog(['1.0.0', '1.1.0', '1.2.0'].map((text) => release(text))), [
      ['1.0.0', '1.2.0'],
      ['0.1', '1.2.0'],
      ['1.2.0', 'up-to-date'],
      ['v1.2', 'up-to-date'],
      ['9.9', 'up-to-date'],
      // A device on a prerelease, or on another build, gets what lies above that.
      ['1.2.0-rc.1', '1.2.0'],
      ['1.2.0+1', 'up-to-date'],
    ]);
    expectAnswers(catalog([]), [['1.0.0', 'up-to-date']]);
  });

  it('paused, deprecated and rolled-back releases are offered to nobody, and paused ones stay', () => {
    for (const status of RELEASE_STATUSES) {
      const answer = status === 'published' ? '2.0.0' : 'up-to-date';
      expectAnswers(catalog([release('2.0.0', { status })]), [['1.0.0', answer]]);
    }
    const paused = release('1.1.0', { status: 'paused' });
    expectAnswers(catalog([release('1.0.0'), paused]), [['1.1.0', 'up-to-date']]);
  });
});

describe('1, 2: a device whose current version was rolled back is served the newest below it', () => {
  const rolledBack = release('1.1.0', { status: 'rolled_back' });
  const notTargeted = release('1.0.0', { targets: TIER_A });

  it('as a downgrade, even when a higher release is published; it is found by canonical version', () => {
    const served = catalog([release('0.9'), release('1.0.0'), rolledBack, release('1.2.0')]);
    expectAnswers(served, [
      ['1.1.0', '1.0.0↓'],
      ['v1.1', '1.0.0↓'],
      ['01.1.0.0', '1.0.0↓'],
      ['1.1.0+1', '1.2.0'],
    ]);
  });

  it('no eligible one below it: no offer', () => {
    const without = 'rolled-back-without-fallback';
    expectAnswers(catalog([rolledBack, release('1.2.0')]), [['1.1.0', without]]);
    expectAnswers(catalog([notTargeted, rolledBack]), [['1.1.0', 'not-targeted']]);
  });

  it('what is below must be published and eligible like any other: it falls through, also by two', () => {
    const served = catalog([
      release('0.8'),
      release('0.9', { status: 'deprecated' }),
      notTargeted,
      release('1.0.1', { rolloutPct: 0 }),
      rolledBack,
      release('1.1.1', { status: 'rolled_back' }),
    ]);
    expectAnswers(served, [
      ['1.1.0', '0.8↓'],
      ['1.1.1', '0.8↓'],
    ]);
  });
});

describe('4: eligible = targeting matches, in the cohort, an artifact matches; the first wins', () => {
  it('a device outside the cohort falls through to the next eligible release', () => {
    const staged = release('2.0.0', { rolloutPct: 10 });
    const { inside, outside } = findDevices(staged.id, 10);
    expectAnswers(catalog([release('1.5.0'), staged]), [
      [{ version: '1.0.0', id: inside }, '2.0.0'],
      [{ version: '1.0.0', id: outside }, '1.5.0'],
      [{ version: '1.5.0', id: outside }, 'outside-cohort'],
    ]);
  });

  it('the cohort ends exactly at its threshold: of 10,000 buckets, 30 % are 0 to 2,999', () => {
    const staged = release('2.0.0', { rolloutPct: 30 });
    const bucketOf = (id: string) => cohortBucket(hashText(id), hashText(staged.id));
    const ids = Array.from({ length: 200_000 }, (_, index) => `device-${index}`);
    const [last, first] = [2999, 3000].map((bucket) => ids.find((id) => bucketOf(id) === bucket));
    if (last === undefined || first === undefined) throw new Error('no device in that bucket');
    expectAnswers(catalog([staged]), [
      [{ version: '1.0.0', id: last }, '2.0.0'],
      [{ version: '1.0.0', id: first }, 'outside-cohort'],
    ]);
  });

  it('a device that targeting leaves out falls through, and so does one without artifact', () => {
    const served = catalog([
      release('1.5.0'),
      release('2.0.0', { targets: TIER_A }),
      release('3.0.0', { artifacts: [{ platform: 'windows' }] }),
    ]);
    expectAnswers(served, [
      [{ version: '1.0.0', labels: { tier: 'a' } }, '2.0.0'],
      [{ version: '1.0.0', labels: { tier: 'b' } }, '1.5.0'],
      ['1.5.0', 'not-targeted'],
      ['2.0.0', 'no-artifact'],
      [{ version: '2.0.0', platform: 'win32' }, '3.0.0'],
    ]);
  });

  it('without a device id only releases at 100 % are eligible; 0 % offers to nobody', () => {
    expectAnswers(catalog([release('1.0.0'), release('2.0.0', { rolloutPct: 99 })]), [
      [{ version: '0.1', id: undefined }, '1.0.0'],
      [{ version: '1.0.0', id: undefined }, 'outside-cohort'],
    ]);
    const nobody = catalog([release('2.0.0', { rolloutPct: 0 })]);
    const ids = Array.from({ length: 200 }, (_, index) => `device-${index}`);
    expectAnswers(
      nobody,
      ids.map((id) => [{ version: '1.0.0', id }, 'outside-cohort'] as const),
    );
  });

  it('expressions over reserved fields are read from the request', () => {
    const since: TargetExpression = { key: '$version', operator: 'VersionGte', values: ['1.5'] };
    const arm: TargetExpression = { key: '$arch', operator: 'In', values: ['arm64'] };
    const targets = targeting({ matchExpressions: [since, arm] });
    expectAnswers(catalog([release('2.0.0', { targets })]), [
      [{ version: '1.5.0', arch: 'aarch64' }, '2.0.0'],
      [{ version: '1.4.9', arch: 'aarch64' }, 'not-targeted'],
      [{ version: '1.5.0', arch: 'x64' }, 'not-targeted'],
      [{ version: '1.5.0', arch: undefined }, 'not-targeted'],
    ]);
  });

  it('when nothing fits, the highest candidate says why; labels are asked for only when needed', () => {
    const { outside } = findDevices('rel-3.0.0', 10);
    const served = catalog([
      release('2.0.0', { targets: TIER_A }),
      release('3.0.0', { rolloutPct: 10 }),
    ]);
    expectAnswers(served, [[{ version: '1.0.0', id: outside }, 'outside-cohort']]);
    expect(planOf(served, fields('1.0.0')).labelKeys).toEqual(['tier']);
    expect(planOf(served, fields('2.0.0')).labelKeys).toEqual([]);
  });
});

it.each<[string, Partial<ServingSnapshot>, readonly Row[]]>([
  ['optional', {}, [['1.1.0', '2.0.0']]],
  ['that of the channel', { updateMode: 'recommended' }, [['1.1.0', '2.0.0?']]],
  [
    'required below the minimum supported version, not at it',
    { minimumSupportedVersion: 'v1.1', updateMode: 'recommended' },
    [
      ['1.0.9', '2.0.0!'],
      ['1.1.0-rc', '2.0.0!'],
      ['1.1.0', '2.0.0?'],
    ],
  ],
  [
    'required when the current release is deprecated',
    {},
    [
      ['1.0.0', '2.0.0!'],
      ['v1', '2.0.0!'],
      ['1.0.1', '2.0.0'],
    ],
  ],
  [
    'required of a downgrade below the minimum',
    { minimumSupportedVersion: '2.2' },
    [['2.1', '2.0.0↓!']],
  ],
])('5: updateMode is %s', (_what, parts, rows) => {
  const served = [release('1.0.0', { status: 'deprecated' }), release('1.1.0'), release('2.0.0')];
  const rolledBack = release('2.1.0', { status: 'rolled_back' });
  expectAnswers(catalog([...served, rolledBack], parts), rows);
});

describe('a release whose first offer cannot be made durable is not offered in that response', () => {
  const fresh = ['1.0.0', '2.0.0', '3.0.0', '4.0.0', '5.0.0', '6.0.0'].map((text) =>
    release(text, { offered: false }),
  );

  it('the next eligible one is, for as many barred ones as there are', () => {
    const served = catalog(fresh);
    const highestFirst = fresh.map(({ id }) => id).reverse();
    for (let count = 0; count < fresh.length; count++) {
      const barred = highestFirst.slice(0, count);
      expectAnswers(served, [[{ version: '0.1', barred }, `${fresh.length - count}.0.0`]]);
    }
    const all = { version: '0.1', barred: highestFirst };
    expectAnswers(served, [[all, 'first-offer-unavailable']]);
  });
});

describe('decisions for archs that no artifact names', () => {
  it('share one candidate list', () => {
    const served = catalog([release('2.0.0'), release('3.0.0', { targets: TIER_A })]);
    const plans = ['riscv64', 's390x', 'loong64'].map((arch) =>
      planOf(served, fields('1.0.0', 'linux', arch)),
    );
    for (const { list } of plans) {
      expect(list).toHaveLength(2);
      expect(list).toBe(plans[0]?.list);
    }
    expect(served.candidates.size).toBe(1);
  });
});
