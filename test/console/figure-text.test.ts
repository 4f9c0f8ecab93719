// Tests numbers and times as the console writes them.

import { expect, it } from 'vitest';
import {
  bytesText,
  countText,
  exactTimeText,
  middleText,
  minutesText,
  numberText,
  shareText,
  timeText,
} from '../../src/console/format/figure-text.ts';

it('a number is grouped, and counts one thing in the singular, none and many in the plural', () => {
  expect(numberText(1234567).replace(/\D/g, '')).toBe('1234567');
  expect(numberText(1234567)).not.toBe('1234567');
  const texts = [0, 1, 2].map((count) => countText(count, 'device'));
  expect(texts).toEqual(['0 devices', '1 device', '2 devices']);
});

it.each([
  [0, 10, '0\u00a0%'],
  [1, 8, '12.5\u00a0%'],
  [10, 10, '100\u00a0%'],
  [1, 1_000_000, '<0.1\u00a0%'],
  [999_999, 1_000_000, '>99.9\u00a0%'],
  [0, 0, '–'],
])('%i of %i is %s: some is never shown as none, nearly all never as all', (part, whole, text) => {
  expect(shareText(part, whole)).toBe(text);
});

it('a size is said in the largest unit', () => {
  const texts = [1, 999, 1500, 12_300_000].map(bytesText);
  expect(texts).toEqual(['1 byte', '999 bytes', '1.5 kB', '12.3 MB']);
});

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

it('a time of more than a week away reads as its day, and the exact one has seconds and zone', () => {
  expect(timeText(new Date('2025-01-02T12:00:00Z'), NOW)).toContain('2025');
  const exact = exactTimeText(new Date('2026-03-10T12:34:56Z'));
  expect(exact).toMatch(/:34:56.*(?:UTC|GMT|[A-Z]{3,4})/);
});

it('a wait is said in the largest unit that leaves no rest', () => {
  const texts = [0, 1, 90, 60, 2160, 1440, 2880].map(minutesText);
  expect(texts).toEqual([
    ...['0 minutes', '1 minute', '90 minutes', '1 hour', '36 hours', '1 day', '2 days'],
  ]);
});

it('a long text leaves out its middle, and keeps both ends', () => {
  const name = 'acme-notes-2.5.0-beta.1-linux-x86_64-portable.AppImage';
  expect(middleText(name)).toBe('acme-notes-2.5.0-be…4-portable.AppImage');
  expect(middleText('acme-notes.dmg')).toBe('acme-notes.dmg');
});
