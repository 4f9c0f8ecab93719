// The rule of staged rollout: a release at n percent is for the devices whose bucket is below n percent.

import { COHORT_BUCKETS, cohortBucket, cohortThreshold, hashText } from '../cohort.ts';
import type { DecisionRule, Device, DeviceCondition, FieldCondition } from './decision-rule.ts';

export const COHORT_RULE: DecisionRule<'outside-cohort'> = {
  reason: 'outside-cohort',

  conditions({ id, rolloutPct }) {
    const threshold = cohortThreshold(rolloutPct);
    if (threshold === COHORT_BUCKETS) return [];
    return threshold === 0 ? [NO_DEVICE] : [new BelowThreshold(rolloutPct, hashText(id))];
  },

  sentence({ id, rolloutPct }, _fields, { hash }) {
    if (hash === undefined) {
      return `The rollout has reached ${rolloutPct} %; a device without an id comes in at 100 %.`;
    }
    const place = (cohortBucket(hash, hashText(id)) / COHORT_BUCKETS) * 100;
    return `The rollout has reached ${rolloutPct} %, and this device is at ${place.toFixed(1)} % of it.`;
  },
};

/** Condition at 0 %, which no device meets. It is a condition on fields, so that no label is fetched. */
const NO_DEVICE: FieldCondition = { on: 'fields', versions: [], fits: () => false };

class BelowThreshold implements DeviceCondition {
  readonly on = 'device';
  readonly labelKeys: readonly string[] = [];
  private readonly threshold: number;
  /** Number of slices in the cohort; each is 1 % of the devices. */
  private readonly slices: number;

  constructor(
    rolloutPct: number,
    /** `hashText` of the release id. */
    private readonly seed: number,
  ) {
    this.threshold = cohortThreshold(rolloutPct);
    this.slices = rolloutPct;
  }

  /** Returns whether the device's bucket is in the cohort; a device without an id has no bucket. */
  fits({ hash }: Device): boolean {
    return hash !== undefined && cohortBucket(hash, this.seed) < this.threshold;
  }

  /** Returns whether the slice is in the cohort. The cohort of every release starts with the same slices. */
  fitsSlice(slice: number): boolean {
    return slice < this.slices;
  }
}
