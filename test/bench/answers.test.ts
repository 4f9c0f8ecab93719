// Tests the comparison of two services' answers.

import { expect, it } from 'vitest';
import { differingShare } from '../../bench/compare/answers.ts';
import type { FixedAnswer } from '../../bench/servers/start-server.ts';

const offer = (version: string, time = '2026-01-01T00:00:00.000Z'): FixedAnswer => ({
  status: 200,
  headers: [['Content-Type', 'application/json']],
  body: `{"version":"${version}","pub_date":"${time}"}`,
});
const NOTHING: FixedAnswer = { status: 204, headers: [], body: '' };

it('takes the same answers in another order, and of another time, as the same', () => {
  const answers = [offer('1.0.0'), offer('2.0.0'), NOTHING];
  const later = [NOTHING, offer('2.0.0', '2026-06-30T12:34:56Z'), offer('1.0.0')];
  expect(differingShare(answers, later)).toBe(0);
});

it('counts answers of another status, body or header', () => {
  const answers = [offer('1.0.0'), offer('1.0.0'), offer('1.0.0'), offer('1.0.0')];
  const [first = NOTHING, ...rest] = answers;
  for (const other of [NOTHING, offer('2.0.0'), { ...first, headers: [] }]) {
    expect(differingShare(answers, [...rest, other])).toBe(0.25);
  }
  expect(differingShare(answers, [NOTHING, NOTHING, NOTHING, NOTHING])).toBe(1);
});

it('counts how often each answer was given', () => {
  const [one, two] = [offer('1.0.0'), offer('2.0.0')];
  expect(differingShare([one, one, one, two], [one, two, two, two])).toBe(0.5);
});
