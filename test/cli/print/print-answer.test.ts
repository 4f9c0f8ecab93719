// Tests the text that the commands print of an answer.

import { expect, it } from 'vitest';
import { printAnswer } from '../../../src/cli/print/print-answer.ts';

it('a field is a line, without null and JSON: a list by commas, a record as its fields', () => {
  const answer = {
    ...{ id: 'dst_1', to: null, notes: '', enabled: false, rollout: 0 },
    ...{ channels: ['stable', 'beta'], apps: [], labels: {} },
    guards: { failedPercent: 2, source: null },
    steps: [{ rollout: 1 }, { rollout: 10, hours: { from: '09:00' } }],
  };
  expect(printAnswer(answer).split('\n')).toEqual([
    ...['id: dst_1', 'to: -', 'notes: -', 'enabled: false', 'rollout: 0'],
    ...['channels: stable, beta', 'apps: -', 'labels: -'],
    'guards: failedPercent: 2, source: -',
    'steps: (rollout: 1), (rollout: 10, hours: (from: 09:00))',
  ]);
});

it('a value is on one line, and cannot steer the terminal', () => {
  expect(printAnswer({ name: 'a\nb', names: ['\u001b[31mred'] })).toBe(
    'name: a\\u000ab\nnames: \\u001b[31mred',
  );
});
