// How long to wait before a process that ended is started again.

const DELAY_MS_MIN = 100;
const DELAY_MS_MAX = 5000;
/** A process that lived so long did not end because it cannot start. */
const SOUND_LIFE_MS = 30_000;

/**
 * The delay after a life of `livedMs`, where the delay before that life was `previousMs` (0: it was the
 * first). Doubles with every short life, so that what cannot start does not keep the machine busy.
 */
export function restartDelay(previousMs: number, livedMs: number): number {
  if (previousMs === 0 || livedMs >= SOUND_LIFE_MS) return DELAY_MS_MIN;
  return Math.min(previousMs * 2, DELAY_MS_MAX);
}
