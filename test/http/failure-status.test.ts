// Tests the status of each refusal, as docs/contract.md has it.

import { expect, it } from 'vitest';
import { FAILURES, type FailureKind } from '../../src/contract/failure.ts';
import { FAILURE_STATUS } from '../../src/http/transport/reply.ts';
import { rowsOf } from '../support/rows-of.ts';

const KINDS = Object.keys(FAILURES) as readonly FailureKind[];

it('says 404 of whatever is unknown', () => {
  const unknown = KINDS.filter((kind) => kind.startsWith('unknown'));
  expect(unknown.length).toBeGreaterThan(5);
  for (const kind of unknown) expect(FAILURE_STATUS[kind], kind).toBe(404);
});

it.each(
  rowsOf(`
  400: invalid
  401: unauthorized
  403: forbidden
  405: methodNotAllowed
  408: bodyTooSlow
  409: versionExists | rolledBack
  413: bodyTooLarge
  422: narrowing
  429: rateLimited
  500: internal
  503: unavailable
  `),
)('%s is %s', (kind, status) => {
  expect(FAILURE_STATUS[kind as FailureKind]).toBe(Number(status));
});

it('is an error for every refusal there is, but for a call that waits for an approval', () => {
  for (const kind of KINDS.filter((each) => each !== 'awaitsApproval')) {
    expect(FAILURE_STATUS[kind], kind).toBeGreaterThanOrEqual(400);
  }
  expect(FAILURE_STATUS.awaitsApproval).toBe(202);
});
