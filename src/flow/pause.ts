// Waits that a signal can end, and the delay before a failed call is repeated.

import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves after `ms`, or as soon as the signal is aborted. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  // The only rejection is the abort itself.
  await sleep(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
}

// Delay before a failed call is repeated: it doubles with every failure up to a limit, so that an unavailable
// store or process is neither given up nor kept busy with attempts.

export type BackOff = {
  /** Delay after the first failure. */
  readonly minMs: number;
  /** Maximum delay. */
  readonly maxMs: number;
};

/** Returns the delay after `failures` (at least 1) failed attempts in a row. */
export function backOffMs({ minMs, maxMs }: BackOff, failures: number): number {
  return Math.min(minMs * 2 ** (failures - 1), maxMs);
}
