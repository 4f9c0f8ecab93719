// Waits before a round until the machine is quiet, within time limits: PostgreSQL records the check-ins of a
// round for seconds after it, which would disturb the next one.

import { placeStores, spreadStores } from '../machine/place-process.ts';
import { idleShare } from '../machine/processes.ts';

const IDLE_WANTED = 0.96;
const IDLE_WINDOW_MS = 250;

export type Patience = ReturnType<typeof createPatience>;

/** Limits all waits together, and one wait. Recording pauses, so idleness alone does not mean `isDone`. */
export function createPatience(isDone: () => Promise<boolean>, allMs: number, onceMs = allMs) {
  let leftMs = allMs;
  let inVain = 0;
  const isQuiet = async () =>
    !((await idleShare(IDLE_WINDOW_MS)) < IDLE_WANTED) && (await isDone());
  return {
    async waitUntilIdle(): Promise<void> {
      const begin = performance.now();
      const waitMs = Math.min(onceMs / 2 ** inVain, leftMs);
      if (waitMs <= 0) return;
      while (!(await isQuiet())) {
        const elapsed = performance.now() - begin;
        if (elapsed >= waitMs) {
          leftMs -= elapsed;
          inVain += 1;
          return placeStores();
        }
        spreadStores();
      }
      inVain = 0;
      placeStores();
    },
  };
}
