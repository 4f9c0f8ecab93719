// Delay before a failed call is tried again: it grows with every failure up to a limit, so that a store or
// process that stays away is neither given up nor kept busy with attempts.

/** Bounds of the delay. */
export type BackOff = {
  /** Delay after the first failure. */
  readonly minMs: number;
  /** Longest delay, however many attempts have failed. */
  readonly maxMs: number;
};

/** Returns the delay after `failures` failed attempts in a row (at least 1). It doubles with each failure. */
export function backOffMs({ minMs, maxMs }: BackOff, failures: number): number {
  return Math.min(minMs * 2 ** (failures - 1), maxMs);
}
