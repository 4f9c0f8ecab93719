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

function offer(version: string, parts: { updateMode?: string; allowDowngrade?: boolean } = {}) {
  return { reason: 'offered', version, updateMode: 'optional', allowDowngrade: false, ...parts };
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

describe('3: the candidates are the published releases above the device’s version, highest first', () => {
  const served = catalog(['1.0.0', '1.1.0', '1.2.0'].map((text) => release(text)));

  it('the highest one is offered', () => {
    expect(ask(served, { version: '1.0.0' })).toEqual(offer('1.2.0'));
    expect(ask(served, { version: '0.1' })).toEqual(offer('1.2.0'));
  });

  it('a device at or above it is up to date', () => {
    expect(ask(served, { version: '1.2.0' })).toEqual({ reason: 'up-to-date' });
    expect(ask(served, { version: 'v1.2' })).toEqual({ reason: 'up-to-date' });
    expect(ask(served, { version: '9.9' })).toEqual({ reason: 'up-to-date' });
    expect(ask(catalog([]), { version: '1.0.0' })).toEqual({ reason: 'up-to-date' });
  });

  it('a device on a prerelease, or on another build, gets what lies above that', () => {
    expect(ask(served, { version: '1.2.0-rc.1' })).toEqual(offer('1.2.0'));
    expect(ask(served, { version: '1.2.0+1' })).toEqual({ reason: 'up-to-date' });
  });

  it('paused, deprecated and rolled-back releases are offered to nobody', () => {
    for (const status of RELEASE_STATUSES) {
      const answer = ask(catalog([release('2.0.0', { status })]), { version: '1.0.0' });
      expect(answer.version).toBe(status === 'published' ? '2.0.0' : undefined);
      if (status !== 'published') expect(answer).toEqual({ reason: 'up-to-date' });
    }
  });

  it('a device on a paused release is not taken down from it', () => {
    const paused = catalog([release('1.0.0'), release('1.1.0', { status: 'paused' })]);
    expect(ask(paused, { version: '1.1.0' })).toEqual({ reason: 'up-to-date' });
  });
});

describe('1, 2: a device whose current version was rolled back is served the newest below it', () => {
  const rolledBack = release('1.1.0', { status: 'rolled_back' });

  it('as a downgrade, even when a higher release is published', () => {
    const served = catalog([release('0.9'), release('1.0.0'), rolledBack, release('1.2.0')]);
    expect(ask(served, { version: '1.1.0' })).toEqual(offer('1.0.0', { allowDowngrade: true }));
  });

  it('the current release is found by canonical version', () => {
    const served = catalog([release('1.0.0'), rolledBack]);
    const answer = offer('1.0.0', { allowDowngrade: true });
    expect(ask(served, { version: 'v1.1' })).toEqual(answer);
    expect(ask(served, { version: '01.1.0.0' })).toEqual(answer);
    expect(ask(served, { version: '1.1.0+1' })).toEqual({ reason: 'up-to-date' });
  });

  it('no eligible one below it: no offer', () => {
    const served = catalog([rolledBack, release('1.2.0')]);
    expect(ask(served, { version: '1.1.0' })).toEqual({ reason: 'rolled-back-without-fallback' });
    const notTargeted = catalog([release('1.0.0', { targets: TIER_A }), rolledBack]);
    expect(ask(notTargeted, { version: '1.1.0' })).toEqual({ reason: 'not-targeted' });
  });

  it('what is below must be published, and eligible like any other: it falls through', () => {
    const served = catalog([
      release('0.8'),
      release('0.9', { status: 'deprecated' }),
      release('1.0.0', { targets: TIER_A }),
      release('1.0.1', { rolloutPct: 0 }),
      rolledBack,
    ]);
    expect(ask(served, { version: '1.1.0' })).toEqual(offer('0.8', { allowDowngrade: true }));
  });

  it('two rolled-back releases in a row: the device lands below both', () => {
    const served = catalog([
      release('1.0.0'),
      rolledBack,
      release('1.1.1', { status: 'rolled_back' }),
    ]);
    expect(ask(served, { version: '1.1.1' })).toEqual(offer('1.0.0', { allowDowngrade: true }));
  });
});

describe('4: eligible = targeting matches, in the cohort, an artifact matches; the first wins', () => {
  it('a device outside the cohort falls through to the next eligible release', () => {
    const staged = release('2.0.0', { rolloutPct: 10 });
    const { inside, outside } = findDevices(staged.id, 10);
    const served = catalog([release('1.5.0'), staged]);
    expect(ask(served, { version: '1.0.0', id: inside })).toEqual(offer('2.0.0'));
    expect(ask(served, { version: '1.0.0', id: outside })).toEqual(offer('1.5.0'));
    expect(ask(served, { version: '1.5.0', id: outside })).toEqual({ reason: 'outside-cohort' });
  });

  it('the cohort ends exactly at its threshold: of 10,000 buckets, 30 % are 0 to 2,999', () => {
    const staged = release('2.0.0', { rolloutPct: 30 });
    const served = catalog([staged]);
    const bucketOf = (id: string) => cohortBucket(hashText(id), hashText(staged.id));
    const ids = Array.from({ length: 200_000 }, (_, index) => `device-${index}`);
    const [last, first] = [2999, 3000].map((bucket) => ids.find((id) => bucketOf(id) === bucket));
    if (last === undefined || first === undefined) throw new Error('no device in that bucket');
    expect(ask(served, { version: '1.0.0', id: last })).toEqual(offer('2.0.0'));
    expect(ask(served, { version: '1.0.0', id: first })).toEqual({ reason: 'outside-cohort' });
  });

  it('a device that targeting leaves out falls through, and so does one without artifact', () => {
    const served = catalog([
      release('1.5.0'),
      release('2.0.0', { targets: TIER_A }),
      release('3.0.0', { artifacts: [{ platform: 'windows' }] }),
    ]);
    expect(ask(served, { version: '1.0.0', labels: { tier: 'a' } })).toEqual(offer('2.0.0'));
    expect(ask(served, { version: '1.0.0', labels: { tier: 'b' } })).toEqual(offer('1.5.0'));
    expect(ask(served, { version: '1.5.0' })).toEqual({ reason: 'not-targeted' });
    expect(ask(served, { version: '2.0.0' })).toEqual({ reason: 'no-artifact' });
    expect(ask(served, { version: '2.0.0', platform: 'win32' })).toEqual(offer('3.0.0'));
  });

  it('without a device id only releases at 100 % are eligible; 0 % offers to nobody', () => {
    const served = catalog([release('1.0.0'), release('2.0.0', { rolloutPct: 99 })]);
    expect(ask(served, { version: '0.1', id: undefined })).toEqual(offer('1.0.0'));
    expect(ask(served, { version: '1.0.0', id: undefined })).toEqual({ reason: 'outside-cohort' });
    const nobody = catalog([release('2.0.0', { rolloutPct: 0 })]);
    for (let index = 0; index < 200; index++) {
      expect(ask(nobody, { version: '1.0.0', id: `device-${index}` }).version).toBeUndefined();
    }
  });

  it('expressions over reserved fields are read from the request', () => {
    const since: TargetExpression = { key: '$version', operator: 'VersionGte', values: ['1.5'] };
    const arm: TargetExpression = { key: '$arch', operator: 'In', values: ['arm64'] };
    const served = catalog([
      release('2.0.0', { targets: targeting({ matchExpressions: [since, arm] }) }),
    ]);
    expect(ask(served, { version: '1.5.0', arch: 'aarch64' })).toEqual(offer('2.0.0'));
    expect(ask(served, { version: '1.4.9', arch: 'aarch64' })).toEqual({ reason: 'not-targeted' });
    expect(ask(served, { version: '1.5.0', arch: 'x64' })).toEqual({ reason: 'not-targeted' });
    expect(ask(served, { version: '1.5.0', arch: undefined })).toEqual({ reason: 'not-targeted' });
  });

  it('when nothing fits, the reason is what kept the highest candidate away', () => {
    const outside = findDevices('rel-3.0.0', 10).outside;
    const served = catalog([
      release('2.0.0', { targets: TIER_A }),
      release('3.0.0', { rolloutPct: 10 }),
    ]);
    expect(ask(served, { version: '1.0.0', id: outside })).toEqual({ reason: 'outside-cohort' });
  });

  it('labels are asked for only when a candidate needs them', () => {
    const served = catalog([
      release('2.0.0', { targets: TIER_A }),
      release('3.0.0', { rolloutPct: 10 }),
    ]);
    expect(planOf(served, fields('1.0.0')).labelKeys).toEqual(['tier']);
    expect(planOf(served, fields('2.0.0')).labelKeys).toEqual([]);
  });
});

describe('5: updateMode', () => {
  const served = (parts: Partial<ServingSnapshot>) =>
    catalog(
      [release('1.0.0', { status: 'deprecated' }), release('1.1.0'), release('2.0.0')],
      parts,
    );

  it('is the channel’s: optional unless set to recommended', () => {
    expect(ask(served({}), { version: '1.1.0' })).toEqual(offer('2.0.0'));
    expect(ask(served({ updateMode: 'recommended' }), { version: '1.1.0' })).toEqual(
      offer('2.0.0', { updateMode: 'recommended' }),
    );
  });

  it('is required below the minimum supported version, not at it', () => {
    const minimum = { minimumSupportedVersion: 'v1.1', updateMode: 'recommended' } as const;
    const updateMode = 'required';
    expect(ask(served(minimum), { version: '1.0.9' })).toEqual(offer('2.0.0', { updateMode }));
    expect(ask(served(minimum), { version: '1.1.0-rc' })).toEqual(offer('2.0.0', { updateMode }));
    expect(ask(served(minimum), { version: '1.1.0' })).toEqual(
      offer('2.0.0', { updateMode: 'recommended' }),
    );
  });

  it('is required when the device’s current release is deprecated', () => {
    const updateMode = 'required';
    expect(ask(served({}), { version: '1.0.0' })).toEqual(offer('2.0.0', { updateMode }));
    expect(ask(served({}), { version: 'v1' })).toEqual(offer('2.0.0', { updateMode }));
    expect(ask(served({}), { version: '1.0.1' })).toEqual(offer('2.0.0'));
  });

  it('a downgrade is required when the rolled-back version is below the minimum', () => {
    const rolledBack = catalog([release('1.0.0'), release('1.1.0', { status: 'rolled_back' })], {
      minimumSupportedVersion: '1.2',
    });
    expect(ask(rolledBack, { version: '1.1.0' })).toEqual(
      offer('1.0.0', { updateMode: 'required', allowDowngrade: true }),
    );
  });
});

describe('a release whose first offer cannot be made durable is not offered in that response', () => {
  const fresh = ['1.0.0', '2.0.0', '3.0.0', '4.0.0', '5.0.0', '6.0.0'].map((text) =>
    release(text, { offered: false }),
  );

  it('the next eligible one is, for as many barred ones as there are', () => {
    const served = catalog(fresh);
    const highestFirst = fresh.map(({ id }) => id).reverse();
    for (let count = 0; count < fresh.length; count++) {
      const answer = ask(served, { version: '0.1', barred: highestFirst.slice(0, count) });
      expect(answer).toEqual(offer(`${fresh.length - count}.0.0`));
    }
    expect(ask(served, { version: '0.1', barred: highestFirst })).toEqual({
      reason: 'first-offer-unavailable',
    });
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
