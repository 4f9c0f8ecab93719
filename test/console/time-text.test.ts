// Tests times as the console writes them.

import { expect, it } from 'vitest';
import { exactTimeText, timeText } from '../../src/console/format/figure-text.ts';

const NOW = Date.parse('2026-03-10T12:00:00Z');
const MINUTE = 60_000;

it.each([
  [0, 'just now'],
  [-59_000, 'just now'],
  [-3 * MINUTE, '3 minutes ago'],
  [-119 * MINUTE, '1 hour ago'],
  [-26 * 60 * MINUTE, 'yesterday'],
  [-6 * 24 * 60 * MINUTE, '6 days ago'],
  [3 * 24 * 60 * MINUTE, 'in 3 days'],
  // An invitation for seven days, a second after it was made.
  [7 * 24 * 60 * MINUTE - 1000, 'in 7 days'],
])('%i ms from now reads "%s"', (offset, text) => {
  expect(timeText(new Date(NOW + offset), NOW)).toBe(text);
});

it('a time of more than a week away reads as its day', () => {
  expect(timeText(new Date('2025-01-02T12:00:00Z'), NOW)).toContain('2025');
});

it('the exact time has seconds and zone', () => {
  expect(exactTimeText(new Date('2026-03-10T12:34:56Z'))).toMatch(/:34:56.*(?:UTC|GMT|[A-Z]{3,4})/);
});
