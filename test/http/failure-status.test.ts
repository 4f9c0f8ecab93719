// Tests the status of each refusal, as docs/contract.md has it.

import { expect, it } from 'vitest';
import { FAILURES, type FailureKind } from '../../src/contract/failure.ts';
import { FAILURE_STATUS } from '../../src/http/failure-status.ts';

const KINDS = Object.keys(FAILURES) as readonly FailureKind[];

it('says 404 of whatever is unknown', () => {
  const unknown = KINDS.filter((kind) => kind.startsWith('unknown'));
  expect(unknown.length).toBeGreaterThan(5);
  for (const kind of unknown) expect(FAILURE_STATUS[kind], kind).toBe(404);
});

it.each([
  ['invalid', 400],
  ['unauthorized', 401],
  ['forbidden', 403],
  ['methodNotAllowed', 405],
  ['versionExists', 409],
  ['rolledBack', 409],
  ['bodyTooSlow', 408],
  ['bodyTooLarge', 413],
  ['narrowing', 422],
  ['rateLimited', 429],
  ['internal', 500],
  ['unavailable', 503],
] as const)('%s is %i', (kind, status) => {
  expect(FAILURE_STATUS[kind]).toBe(status);
});

it('is an error for every refusal there is', () => {
  for (const kind of KINDS) expect(FAILURE_STATUS[kind], kind).toBeGreaterThanOrEqual(400);
});
