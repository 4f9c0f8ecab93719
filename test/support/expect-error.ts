// Expectations of refusals: the status, and the Error body, which has nothing else in it.

import { expect } from 'vitest';
import type { Answer } from './tenant.ts';

/** Expects exactly this status and Error body; `error` is the message or a matcher of it. */
export function expectError(
  { status, body }: Pick<Answer, 'status' | 'body'>,
  expected: number,
  error: unknown,
): void {
  expect([status, body]).toStrictEqual([expected, { error }]);
}

/** Expects 503 for what cannot be told now, with the time to try again. */
export function expectUnavailable({ status, headers, body }: Answer): void {
  expect(status).toBe(503);
  expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(body).toEqual({ error: expect.any(String) });
}
