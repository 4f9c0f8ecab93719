// Expectation of a refusal: its status and its Error body, which has nothing else in it.

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
