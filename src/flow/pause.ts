// A wait that an abort signal, such as that of a stop, ends early.

import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves after `ms`, or as soon as the signal is aborted. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  // The only rejection is the abort itself.
  await sleep(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
}
