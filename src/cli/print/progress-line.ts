// Shows the progress of long work: on a terminal as one line that is overwritten, elsewhere as a line from
// time to time.

import { printableText } from './print-answer.ts';

type Stream = { readonly isTTY?: boolean; write(text: string): unknown };

const TERMINAL_INTERVAL_MS = 100;
const CLEAR = '\r\u001b[K';

/** Line of progress. */
export class ProgressLine {
  private readonly intervalMs: number;
  private readonly now: () => number;
  private shownAt = Number.NEGATIVE_INFINITY;
  private isShown = false;

  /** `linesMs`: time between lines if the stream is no terminal; by default, nothing is written there. */
  constructor(
    private readonly stream: Stream,
    linesMs = Number.POSITIVE_INFINITY,
    now = () => performance.now(),
  ) {
    this.intervalMs = stream.isTTY === true ? TERMINAL_INTERVAL_MS : linesMs;
    this.now = now;
  }

  /** Shows a progress text, unless one was shown less than the interval ago. */
  show(text: string): void {
    const now = this.now();
    if (this.intervalMs === Number.POSITIVE_INFINITY) return;
    if (now - this.shownAt < this.intervalMs) return;
    this.shownAt = now;
    const line = printableText(text);
    this.isShown = this.stream.isTTY === true;
    this.stream.write(this.isShown ? `${CLEAR}${line}` : `${line}\n`);
  }

  /** Clears the line on the terminal. */
  clear(): void {
    if (this.isShown) this.stream.write(CLEAR);
    this.isShown = false;
  }
}
