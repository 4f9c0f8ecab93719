// Waits before a round until the machine is quiet, within time limits.

import { idleShare } from '../machine/cpu-account.ts';

/** Work of a service that goes on after its answers, for which rounds have to wait. */
export type Background = {
  /** Resolves to whether nothing is left to do. */
  isDone(): Promise<boolean>;
  /** Moves PostgreSQL and the background process to all cores, while nothing is measured. */
  spread(): void;
  /** Moves PostgreSQL and the background process back to the cores that they keep during a round. */
  place(): void;
};

/** Time that a whole benchmark may wait for a quiet machine, shared by its rounds. */
export type Patience = {
  leftMs: number;
  readonly perRoundMs: number;
  /**
   * Number of waits that timed out since the last success. Each halves the next wait, for machines that stay
   * busy.
   */
  inVain: number;
  /** Work to wait for as well. It pauses, so an idle moment alone does not mean that it is done. */
  readonly background: Background;
};

const IDLE_WANTED = 0.96;
const IDLE_WINDOW_MS = 250;

/** Creates the time limits of all waits together and of one wait; a smoke run does not wait at all. */
export function patienceOf(
  isSmoke: boolean,
  leftMs: number,
  perRoundMs: number,
  background: Background,
): Patience {
  const [left, perRound] = isSmoke ? [0, 0] : [leftMs, perRoundMs];
  return { leftMs: left, perRoundMs: perRound, inVain: 0, background };
}

/** Waits until no work is left and the machine is idle: true then, false when a time limit came first. */
export async function waitUntilIdle(patience: Patience): Promise<boolean> {
  const begin = performance.now();
  const waitMs = Math.min(patience.perRoundMs / 2 ** patience.inVain, patience.leftMs);
  if (waitMs <= 0) return false;
  const { background } = patience;
  try {
    for (;;) {
      const isIdle = !((await idleShare(IDLE_WINDOW_MS)) < IDLE_WANTED);
      if (isIdle && (await background.isDone())) {
        patience.inVain = 0;
        return true;
      }
      const elapsed = performance.now() - begin;
      if (elapsed >= waitMs) {
        patience.leftMs -= elapsed;
        patience.inVain += 1;
        return false;
      }
      background.spread();
    }
  } finally {
    background.place();
  }
}
