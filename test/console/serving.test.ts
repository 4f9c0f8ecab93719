// Tests what channels serve: their order, the share, and what stands against a change of it.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  channelOrder,
  channelTabs,
  servedShare,
  servingObstacle,
  standingText,
} from '../../src/console/format/serving.ts';
import { RELEASE_STATUSES, STANDING_STATES } from '../../src/contract/choice.ts';
import { isFailure } from '../../src/contract/failure.ts';
import type { Targeting } from '../../src/contract/resource.ts';
import { applyServingChange } from '../../src/domain/release/serving-change.ts';

const RING_A: Targeting = { matchLabels: { ring: ['a'] }, matchExpressions: [] };
const RING_AB: Targeting = { matchLabels: { ring: ['a', 'b'] }, matchExpressions: [] };
const ON_ARM: Targeting = {
  matchLabels: {},
  matchExpressions: [{ key: '$arch', operator: 'In', values: ['arm64'] }],
};
const OFFERED = { status: 'published', rolloutPct: 25, targets: RING_A, offered: true } as const;

describe('a rollout', () => {
  it('can be set to every accepted share but the present one, unless it was rolled back', () => {
    const serving = fc.record({
      status: fc.constantFrom(...RELEASE_STATUSES),
      rolloutPct: fc.integer({ min: 0, max: 100 }),
      targets: fc.constantFrom(null, RING_A, ON_ARM),
      offered: fc.boolean(),
    });
    fc.assert(
      fc.property(serving, fc.integer({ min: 0, max: 100 }), (release, rollout) => {
        const isPossible = servingObstacle.toRollout(release, rollout) === undefined;
        const isAccepted = !isFailure(applyServingChange(release, { rollout }));
        const isIdle = release.status === 'rolled_back' || release.rolloutPct === rollout;
        expect(isPossible).toBe(isAccepted && !isIdle);
      }),
    );
  });

  it('says why it cannot go down once devices were offered it, and be a share that is none', () => {
    expect(servingObstacle.toRollout(OFFERED, 10)).toMatch(/already offered.*25\u00a0%.*Pause/);
    for (const share of [1.5, -1, 101, Number.NaN]) {
      expect(servingObstacle.toRollout(OFFERED, share)).toMatch(/whole number/);
    }
  });
});

describe('targeting', () => {
  it('can become anything before the first offer, and only reach more devices by its labels afterwards', () => {
    for (const targets of [null, RING_A, RING_AB, ON_ARM]) {
      expect(servingObstacle.toTargets({ ...OFFERED, offered: false }, targets)).toBeUndefined();
    }
    expect(servingObstacle.toTargets(OFFERED, RING_AB)).toBeUndefined();
    expect(servingObstacle.toTargets(OFFERED, null)).toBeUndefined();
    const wide = { ...OFFERED, targets: RING_AB };
    expect(servingObstacle.toTargets(wide, RING_A)).toMatch(/only reach more devices/);
  });

  it('keeps its conditions afterwards', () => {
    expect(servingObstacle.toTargets(OFFERED, ON_ARM)).toMatch(/conditions are fixed/);
    const onArm = { ...OFFERED, targets: ON_ARM };
    expect(servingObstacle.toTargets(onArm, null)).toMatch(/conditions are fixed/);
    expect(servingObstacle.toTargets(onArm, ON_ARM)).toBeUndefined();
  });
});

it('channels: stable first, then by name, numbers by their value', () => {
  const names = ['beta', 'channel-19', 'stable', 'channel-9', 'alpha'];
  expect(names.toSorted(channelOrder)).toEqual([
    ...['stable', 'alpha', 'beta', 'channel-9', 'channel-19'],
  ]);
});

it.each([
  [['a', 'b', 'c', 'd', 'e', 'f'], 'f', 'a b c d e f'],
  [['a', 'b', 'c', 'd', 'e', 'f', 'g'], 'g', 'a b c d e g'],
  [['a', 'b', 'c', 'd', 'e', 'f', 'g'], 'b', 'a b c d e'],
  [['a', 'b', 'c', 'd', 'e', 'f', 'g'], 'gone', 'a b c d e'],
])('of the channels %j six have tabs, and %s is among them', (names, open, tabs) => {
  expect(channelTabs(names, open).join(' ')).toBe(tabs);
});

const STANDING = { on: [], supersededBy: null, wayDownFor: [], change: null };

it('a release that is not offered is served to nobody, whatever its rollout is', () => {
  const shares = STANDING_STATES.map((state) =>
    servedShare({ rolloutPct: 50, standing: { ...STANDING, state } }),
  );
  expect(shares).toEqual([50, 50, 0, 0, 0, 0, 0, 0, 0]);
});

it.each([
  [{ state: 'superseded', supersededBy: '2.0.0' }, 'Not offered: 2.0.0 is newer.'],
  [{ state: 'for nobody yet' }, 'no device that could install it matches'],
  [{ state: 'serving' }, 'Offered to every matching device.'],
  [
    { state: 'serving', on: ['darwin'], supersededBy: '3.1.0' },
    'Offered to every matching device on darwin. Other devices are offered 3.1.0.',
  ],
  [{ state: 'rolling out' }, 'Offered to 50\u00a0% of the matching devices.'],
  // Who has no update is told nothing (13.5).
  [{ state: 'deprecated' }, 'A device on it that is offered an update is told'],
] as const)('the sentence of %j', (standing, sentence) => {
  expect(standingText({ rolloutPct: 50, standing: { ...STANDING, ...standing } })).toContain(
    sentence,
  );
});
