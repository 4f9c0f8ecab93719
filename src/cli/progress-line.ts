// Progress of what takes long, on one line of the terminal that is written again and again.

import { printableText } from './printable-text.ts';

type Stream = { readonly isTTY?: boolean; write(text: string): unknown };

/** Files below this size are read faster than a person could look. */
const SHOWN_BYTES_MIN = 32 * 1024 * 1024;
const INTERVAL_MS = 100;
const CLEAR = '\r\u001b[K';

/** Line of progress of files that are read. */
export class ProgressLine {
  private readonly stream: Stream;
  private shownAt = 0;
  private isShown = false;

  /** Shows nothing unless the stream is a terminal. */
  constructor(stream: Stream) {
    this.stream = stream;
  }

  /** Shows how much of a file was read, ten times a second at most. */
  show(name: string, read: number, size: number): void {
    if (this.stream.isTTY !== true || size < SHOWN_BYTES_MIN) return;
    const now = performance.now();
    if (now - this.shownAt < INTERVAL_MS) return;
    this.shownAt = now;
    this.isShown = true;
    const percent = Math.min(100, Math.floor((100 * read) / size));
    this.stream.write(`${CLEAR}reading ${printableText(name)} … ${percent} %`);
  }

  /** Takes the line away. */
  clear(): void {
    if (this.isShown) this.stream.write(CLEAR);
    this.isShown = false;
  }
}
