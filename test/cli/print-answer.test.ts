// Tests the text that the commands print of an answer.

import { expect, it } from 'vitest';
import { printAnswer } from '../../src/cli/print-answer.ts';

it('a field is a line, and a record of a list a paragraph apart from the fields that follow', () => {
  const devices = [
    { deviceId: 'a', version: '1.0.0' },
    { deviceId: 'b', version: null },
  ];
  expect(printAnswer({ devices, next: 'b' })).toBe(
    'deviceId: a\nversion: 1.0.0\n\ndeviceId: b\nversion: null\n\nnext: b',
  );
  expect(printAnswer({ devices })).toBe(
    'deviceId: a\nversion: 1.0.0\n\ndeviceId: b\nversion: null',
  );
});
