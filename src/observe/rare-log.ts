// Log for events that can happen thousands of times a second while a store is unavailable: at most one line a
// second per message, which carries the number of suppressed lines.

import type { Log } from './log.ts';

const INTERVAL_MS = 1000;
const MESSAGES_MAX = 1000;

type MessageState = { nextAt: number; suppressed: number };

export class RareLog {
  private readonly log: Pick<Log, 'warn'>;
  private readonly now: () => number;
  private readonly states = new Map<string, MessageState>();

  constructor(log: Pick<Log, 'warn'>, now: () => number = () => performance.now()) {
    this.log = log;
    this.now = now;
  }

  /** Logs a warning unless the same message was logged within the last second. */
  warn(details: Readonly<Record<string, unknown>>, message: string): void {
    const state = this.stateOf(message);
    const now = this.now();
    if (now < state.nextAt) {
      state.suppressed += 1;
      return;
    }
    const { suppressed } = state;
    state.nextAt = now + INTERVAL_MS;
    state.suppressed = 0;
    this.log.warn(suppressed === 0 ? details : { ...details, suppressed }, message);
  }

  private stateOf(message: string): MessageState {
    const known = this.states.get(message);
    if (known !== undefined) return known;
    // Messages are literals, so there are few; the bound guards against a message that is built at run time.
    if (this.states.size >= MESSAGES_MAX) this.states.clear();
    const state = { nextAt: 0, suppressed: 0 };
    this.states.set(message, state);
    return state;
  }
}
