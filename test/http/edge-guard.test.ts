// Tests the guard of the endpoints for edges by itself: who is refused, also after a wait, and what is
// signed.

import { afterEach, expect, it, vi } from 'vitest';
import { fail } from '../../src/contract/failure.ts';
import { createEdgeGuard } from '../../src/http/api/edge-routes.ts';
import type { Exchange } from '../../src/http/transport/exchange.ts';

const EDGE = { tokenId: 'edt_1', scope: null };
const TIME = { kind: 'time', at: 1 } as const;

afterEach(() => {
  vi.useRealTimers();
});

/** Asks by way of the guard; the answer takes `tookMs`, and the token is valid for `calls` look-ups. */
async function ask(tookMs: number, calls: number, answer: typeof TIME | undefined) {
  vi.useFakeTimers({ toFake: ['performance'] });
  const signed: unknown[] = [];
  let asked = 0;
  const guard = createEdgeGuard({
    edges: {
      authenticate: async () => (++asked > calls ? fail('edgeUnauthorized') : EDGE),
    } as unknown as Parameters<typeof createEdgeGuard>[0]['edges'],
    signer: {
      sign: (...parts: unknown[]) => {
        signed.push(parts);
        return 'signature';
      },
    } as unknown as Parameters<typeof createEdgeGuard>[0]['signer'],
    record: async () => 'rec_1',
  });
  const exchange = {
    headers: new Map([['sluice-nonce', 'n'.repeat(16)]]),
    notes: { add: () => undefined },
  } as unknown as Exchange;
  const { status } = await guard(async () => {
    vi.advanceTimersByTime(tookMs);
    return answer;
  })(exchange);
  return { status, signed: signed.length, asked };
}

it.each([
  ['an answer at once is signed', 0, 9, TIME, { status: 200, signed: 1, asked: 1 }],
  ['so is that nothing is new', 3000, 9, undefined, { status: 304, signed: 1, asked: 1 }],
  ['after a wait the token is looked at again', 600, 9, TIME, { status: 200, signed: 1, asked: 2 }],
  ['one revoked meanwhile gets nothing new', 600, 1, TIME, { status: 401, signed: 0, asked: 2 }],
  ['a stranger gets nothing', 0, 0, TIME, { status: 401, signed: 0, asked: 1 }],
] as const)('%s (§29.2, §29.3)', async (_, tookMs, calls, answer, expected) => {
  expect(await ask(tookMs, calls, answer)).toEqual(expected);
});
