// Makes calls at a constant rate, whatever earlier ones do, and counts those that fail by their reasons.

import { setTimeout as sleep } from 'node:timers/promises';

/** Calls that run at once; behind them the others wait, which shows in their time since they were due. */
const RUNNING_MAX = 2000;
const REASON_LENGTH_MAX = 80;

/** Returns the numbers of failed calls by reason. A call gets its place, and the time at which it was due. */
export async function callAtRate(
  { rate, count }: { readonly rate: number; readonly count: number },
  call: (index: number, due: number) => Promise<void>,
): Promise<Record<string, number>> {
  const failed: Record<string, number> = {};
  const running = new Set<Promise<void>>();
  const begin = performance.now();
  for (let index = 0; index < count; index++) {
    const due = begin + (index * 1000) / rate;
    const early = due - performance.now();
    if (early > 0) await sleep(early);
    if (running.size >= RUNNING_MAX) await Promise.race(running);
    const made: Promise<void> = call(index, due)
      .catch((error: unknown) => {
        const reason = String(error).slice(0, REASON_LENGTH_MAX);
        failed[reason] = (failed[reason] ?? 0) + 1;
      })
      .finally(() => running.delete(made));
    running.add(made);
  }
  await Promise.all(running);
  return failed;
}
