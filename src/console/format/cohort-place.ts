// Places of devices in a roll-out, as shares of the fleet.

/** Number of buckets, as `COHORT_BUCKETS` of the domain, whose hash no browser has the parts for. */
const BUCKETS = 10_000;
const BUCKETS_PER_PERCENT = BUCKETS / 100;

export const cohortPlace = {
  buckets: BUCKETS,

  /** Formats a bucket, or a threshold, as a share of the fleet: `67.25 %`. */
  text: (bucket: number): string => `${bucket / BUCKETS_PER_PERCENT} %`,

  /** Returns the lowest whole percentage of a roll-out that reaches a bucket. */
  reachedAt: (bucket: number): number => Math.floor(bucket / BUCKETS_PER_PERCENT) + 1,
};
