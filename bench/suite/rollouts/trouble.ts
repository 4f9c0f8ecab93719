// What is wrong with a release: shares of the devices that it harms, and how.

/** What becomes of a device that installs the release. */
export type Fate =
  | 'fine'
  /** Runs the release, asks once more, and is never heard of again. */
  | 'dies after'
  /** Never asks again once the installation has begun. */
  | 'dies installing'
  /** Cannot install it, tells nobody, and goes on as before. */
  | 'cannot'
  /** Cannot install it, and reports the failure. */
  | 'cannot and says so'
  /** Runs it for some hours, then the version of before. */
  | 'leaves again';

export type Trouble = {
  readonly name: string;
  /** Shares of the devices, 0 to 1, by fate; the others are fine. */
  readonly shares: readonly (readonly [fate: Fate, share: number])[];
};

/**
 * Troubles that every release has: some disks are full, and some people do not like what they got.
 */
const ORDINARY: Trouble['shares'] = [
  ['cannot', 0.001],
  ['cannot and says so', 0.001],
  ['leaves again', 0.002],
];

export const GOOD: Trouble = { name: 'good', shares: ORDINARY };

/** Releases that must be stopped. */
export const BAD: readonly Trouble[] = [
  {
    name: 'bricks 3 %',
    shares: [['dies after', 0.015], ['dies installing', 0.015], ...ORDINARY],
  },
  {
    name: '5 % cannot install',
    shares: [['cannot', 0.045], ['cannot and says so', 0.005], ...ORDINARY],
  },
  { name: '4 % leave again', shares: [['leaves again', 0.04], ...ORDINARY] },
];

/** Returns the fate of a device; `random` is uniform in [0, 1). */
export function fateOf({ shares }: Trouble, random: number): Fate {
  let above = random;
  for (const [fate, share] of shares) {
    if (above < share) return fate;
    above -= share;
  }
  return 'fine';
}
