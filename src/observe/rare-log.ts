// Log for events that can occur thousands of times a second while a store is unavailable: at most one line
// per second and message, or per minute, message and subject. A line says how many others it stands for.

import type { Log } from './log.ts';

const INTERVAL_MS = 1000;
const SUBJECT_INTERVAL_MS = 60_000;
const STATES_MAX = 1000;

type KindState = { nextAt: number; suppressed: number };

export class RareLog {
  private readonly states = new Map<string, KindState>();

  constructor(
    private readonly log: Pick<Log, 'warn'>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Logs a warning unless the same message was logged within the last second. */
  warn(details: Readonly<Record<string, unknown>>, message: string): void {
    this.write(message, INTERVAL_MS, details, message);
  }

  /**
   * Logs a warning about a subject, such as a release, unless the same message was logged about it within the
   * last minute. Each subject gets a line, so callers must not warn of many in a short time.
   */
  warnAbout(subject: string, details: Readonly<Record<string, unknown>>, message: string): void {
    this.write(`${message} ${subject}`, SUBJECT_INTERVAL_MS, details, message);
  }

  private write(
    kind: string,
    intervalMs: number,
    details: Readonly<Record<string, unknown>>,
    message: string,
  ): void {
    const state = this.stateOf(kind);
    const now = this.now();
    if (now < state.nextAt) {
      state.suppressed += 1;
      return;
    }
    const { suppressed } = state;
    state.nextAt = now + intervalMs;
    state.suppressed = 0;
    this.log.warn(suppressed === 0 ? details : { ...details, suppressed }, message);
  }

  private stateOf(kind: string): KindState {
    const known = this.states.get(kind);
    if (known !== undefined) return known;
    // Messages are literals, so there are few kinds; the bound is for subjects.
    if (this.states.size >= STATES_MAX) this.states.clear();
    const state = { nextAt: 0, suppressed: 0 };
    this.states.set(kind, state);
    return state;
  }
}
