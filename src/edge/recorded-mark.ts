// Estimate of how far the check-ins of an edge are on record at its upstream. The upstream confirms that it
// has taken a check-in over; it records it within seconds, and nobody tells the edge when.

import type { CheckInJournal } from '../store/check-in-journal.ts';

/** Time in which an upstream records what it has taken over, and the edge hears of it; mostly less. */
const RECORDING_MS = 4000;
/** Longest time from a check to its place in the journal, while that takes what it is given. */
const BUFFERED_MS = 300;
const TICK_MS = 500;
/** More marks than ticks in the time of a recording, should timers come late or too often. */
const MARKS_MAX = 64;

/** Moment, and the time before which all check-ins had been handed over by then. */
type Mark = { readonly at: number; readonly handedOverBefore: number };

export class RecordedMark {
  private readonly journal: Pick<CheckInJournal, 'ageMs'>;
  private readonly now: () => number;
  private readonly marks: Mark[] = [];
  private timer: NodeJS.Timeout | undefined;

  /** `now` returns milliseconds that never go back. */
  constructor(journal: Pick<CheckInJournal, 'ageMs'>, now: () => number = () => performance.now()) {
    this.journal = journal;
    this.now = now;
  }

  /** Follows the journal until `stop`. */
  start(): void {
    this.timer ??= setInterval(() => this.tick(), TICK_MS);
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Takes note of how far the journal is handed over now. */
  tick(): void {
    const at = this.now();
    this.marks.push({ at, handedOverBefore: at - this.journal.ageMs - BUFFERED_MS });
    // The newest mark that is old enough stays in front.
    while (this.marks.length > MARKS_MAX || this.isOldEnough(this.marks[1])) this.marks.shift();
  }

  /** Time of the clock before which the check-ins of this edge are on record, as far as it can know. */
  get before(): number {
    const [first] = this.marks;
    if (first === undefined || !this.isOldEnough(first)) return Number.NEGATIVE_INFINITY;
    return first.handedOverBefore;
  }

  private isOldEnough(mark: Mark | undefined): boolean {
    return mark !== undefined && mark.at <= this.now() - RECORDING_MS;
  }
}
