// Tests parts of replies: the status of each refusal, as docs/contract.md has it, and addresses in headers.
// One that was stored before what it may hold was looked at must not change the answer that it is in.

import { expect, it } from 'vitest';
import { FAILURES, type FailureKind } from '../../src/contract/failure.ts';
import { addressHeader } from '../../src/http/device/address-header.ts';
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

it.each([
  ['https://dl.example.com/a%20b?c=d&e=%20#f', 'https://dl.example.com/a%20b?c=d&e=%20#f'],
  ['https://dl.example.com/\r\nSet-Cookie:x', 'https://dl.example.com/%0D%0ASet-Cookie:x'],
  ['https://dl.example.com/\u0001\u001b\u007f\u009b', 'https://dl.example.com/%01%1B%7F%C2%9B'],
  ['https://dl.example.com/ö\u202e\u{1f680}', 'https://dl.example.com/%C3%B6%E2%80%AE%F0%9F%9A%80'],
  ['https://dl.example.com/\ud800', 'https://dl.example.com/%EF%BF%BD'],
])('the address %j is %s in a header', (url, text) => {
  expect(addressHeader(url)).toEqual(['Location', text]);
});
