// Tests how far something is shown to be: on a terminal, in a file, and where nobody reads it.

import { expect, it } from 'vitest';
import { ProgressLine } from '../../../src/cli/print/progress-line.ts';

const CLEAR = '\r\u001b[K';

/** Shows fourteen days, of which each takes a second; returns what was written. */
function written(isTTY: boolean, linesMs?: number): string[] {
  const parts: string[] = [];
  let now = 0;
  const stream = { isTTY, write: (text: string) => parts.push(text) };
  const line = new ProgressLine(stream, linesMs, () => now);
  for (let day = 1; day <= 14; day++) {
    line.show(`day ${day}`);
    // Again within a tenth of a second: once is enough.
    line.show(`day ${day} again`);
    now += 1000;
  }
  line.clear();
  line.clear();
  return parts;
}

it('on a terminal it is one line, which is written again and taken away at the end', () => {
  const days = Array.from({ length: 14 }, (_, index) => `${CLEAR}day ${index + 1}`);
  expect(written(true)).toEqual([...days, CLEAR]);
});

it('elsewhere it is a line every so often, the first one at once', () => {
  expect(written(false, 5000)).toEqual(['day 1\n', 'day 6\n', 'day 11\n']);
});

it('elsewhere it is nothing unless lines are wanted', () => {
  expect(written(false)).toEqual([]);
});
