// Tests the words for the actions of a device that speaks DDI (docs/contract.md 34.50).

import { expect, it } from 'vitest';
import { actionText, barText, retriedText } from '../../src/words/action-words.ts';

const ACTION = { id: '31', version: '2.0.0', since: '2026-01-01T00:00:00.000Z' } as const;
const BAR = { version: '2.0.0', until: null } as const;

it('an action tells its state, and why it failed', () => {
  const told = (state: 'open' | 'failed', reason: string | null) =>
    actionText({ ...ACTION, state, reason });
  expect(told('open', null)).toBe('It is to install this, and has not fetched it yet.');
  expect(told('failed', 'no space')).toBe('It failed to install this: “no space”.');
  expect(actionText({ ...ACTION, state: 'later' as 'open', reason: null })).toBe('later');
});

it('a bar tells whether time ends it', () => {
  expect(barText({ ...BAR, result: 'succeeded' })).toMatch(/as installed, .* not get it again\.$/);
  expect(barText({ ...BAR, result: 'failed' })).toMatch(/failed .* not get it again\.$/);
  const until = '2026-01-01T00:00:00.000Z';
  expect(barText({ ...BAR, result: 'failed', until })).toMatch(/and gets it again$/);
});

it('a retry tells the number of bars that ended (§34.52)', () => {
  expect(retriedText(0, '2.0.0')).toBe('No device was barred from 2.0.0.');
  expect(retriedText(1, '2.0.0')).toBe('1 device can have 2.0.0 again.');
  expect(retriedText(12, '2.0.0')).toBe('12 devices can have 2.0.0 again.');
});
