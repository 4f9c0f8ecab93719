// Tests what is read of `Retry-After`.

import { expect, it } from 'vitest';
import { retryAfterMs } from '../../src/flow/outgoing-call.ts';

it.each([
  [undefined, undefined],
  ['120', 120_000],
  ['Sat, 01 Aug 2026 00:01:00 GMT', 60_000],
  ['Fri, 31 Jul 2026 00:00:00 GMT', 0],
  ['soon', undefined],
])('Retry-After %s is %s ms', (header, ms) => {
  expect(retryAfterMs(header, Date.parse('2026-08-01T00:00:00Z'))).toBe(ms);
});
