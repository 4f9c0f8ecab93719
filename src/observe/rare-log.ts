// A log for what can happen thousands of times a second when a store is away: one line a second for each
// kind, which says how many it stands for.

import type { Log } from './log.ts';

const INTERVAL_MS = 1000;
const KINDS_MAX = 1000;

type Kind = { nextAt: number; suppressed: number };

export class RareLog {
  private readonly log: Pick<Log, 'warn'>;
  private readonly now: () => number;
  private readonly kinds = new Map<string, Kind>();

  constructor(log: Pick<Log, 'warn'>, now: () => number = () => performance.now()) {
    this.log = log;
    this.now = now;
  }

  /** Logs a warning, unless one of the same message was logged within the last second. */
  warn(details: Readonly<Record<string, unknown>>, message: string): void {
    const kind = this.kindOf(message);
    const now = this.now();
    if (now < kind.nextAt) {
      kind.suppressed += 1;
      return;
    }
    const { suppressed } = kind;
    kind.nextAt = now + INTERVAL_MS;
    kind.suppressed = 0;
    this.log.warn(suppressed === 0 ? details : { ...details, suppressed }, message);
  }

  private kindOf(message: string): Kind {
    const known = this.kinds.get(message);
    if (known !== undefined) return known;
    // Messages are written in the code, so there are few; the bound is for the one that is not.
    if (this.kinds.size >= KINDS_MAX) this.kinds.clear();
    const kind = { nextAt: 0, suppressed: 0 };
    this.kinds.set(message, kind);
    return kind;
  }
}
