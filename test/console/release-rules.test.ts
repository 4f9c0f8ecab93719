// What the console offers is what the service accepts: the page's rules against those of the domain.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { releaseRules } from '../../src/console/format/release-rules.ts';
import { isFailure } from '../../src/contract/failure.ts';
import { RELEASE_STATUSES, type Targeting } from '../../src/contract/resource.ts';
import { applyServingChange } from '../../src/domain/serving.ts';

const targeting: fc.Arbitrary<Targeting | null> = fc.option(
  fc.record({
    matchLabels: fc.dictionary(
      fc.constantFrom('ring', 'site'),
      fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { minLength: 1 }),
    ),
    matchExpressions: fc.array(
      fc.record({
        key: fc.constantFrom('ring', '$arch'),
        operator: fc.constantFrom('In', 'NotIn'),
        values: fc.uniqueArray(fc.constantFrom('a', 'b'), { minLength: 1 }),
      }),
      { maxLength: 2 },
    ),
  }),
);
const serving = fc.record({
  status: fc.constantFrom(...RELEASE_STATUSES),
  rolloutPct: fc.integer({ min: 0, max: 100 }),
  targets: targeting,
  offered: fc.boolean(),
});

describe('the console offers what the service accepts', () => {
  it('of a roll-out: every share but the present one, and none for what was rolled back', () => {
    fc.assert(
      fc.property(serving, fc.integer({ min: 0, max: 100 }), (release, rollout) => {
        const isOffered = releaseRules.rolloutObstacle(release, rollout) === undefined;
        const isAccepted = !isFailure(applyServingChange(release, { rollout }));
        const isIdle = release.status === 'rolled_back' || release.rolloutPct === rollout;
        expect(isOffered).toBe(isAccepted && !isIdle);
      }),
    );
  });

  it('of targeting', () => {
    fc.assert(
      fc.property(serving, targeting, (release, targets) => {
        const isOffered = releaseRules.targetingObstacle(release, targets) === undefined;
        expect(isOffered).toBe(!isFailure(applyServingChange(release, { targets })));
      }),
    );
  });

  it('of statuses: every other one, until it was rolled back', () => {
    fc.assert(
      fc.property(serving, fc.constantFrom(...RELEASE_STATUSES), (release, status) => {
        const isAccepted = !isFailure(applyServingChange(release, { status }));
        const isChange = release.status !== status;
        expect(releaseRules.canBecome(release, status)).toBe(isAccepted && isChange);
      }),
    );
  });
});

describe('what stands in the way is said', () => {
  const offered = { status: 'published', rolloutPct: 25, targets: null, offered: true } as const;

  it('of a lower share, once devices were offered the release', () => {
    expect(releaseRules.rolloutObstacle(offered, 10)).toMatch(/already offered.*25%.*Pause/);
  });

  it.each([1.5, -1, 101, Number.NaN])('of a share that is none: %d', (share) => {
    expect(releaseRules.rolloutObstacle(offered, share)).toMatch(/whole number/);
  });
});
