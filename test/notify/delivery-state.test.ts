// Tests when a delivery is tried again, and when its destination is disabled.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { afterTry } from '../../src/notify/delivery-state.ts';

const FAILED = { kind: 'failed', status: 500, error: 'Answered 500' } as const;
const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

describe('a delivery (§30.10)', () => {
  it.each([
    ...[
      [0, 5000],
      [1, MINUTE],
      [2, 5 * MINUTE],
      [3, 30 * MINUTE],
      [4, 2 * HOUR],
      [5, 5 * HOUR],
    ],
    ...[
      [6, 10 * HOUR],
      [7, 10 * HOUR],
      [50, 10 * HOUR],
    ],
  ])('that failed %d times before is tried again after %d ms', (failures = 0, inMs = 0) => {
    const progress = { failures, failingMs: null };
    expect(afterTry(progress, FAILED, 0)).toEqual({ kind: 'retry', inMs });
    expect(afterTry(progress, FAILED, 1)).toEqual({ kind: 'retry', inMs: Math.round(inMs * 1.1) });
  });

  it('waits as long as the receiver asks for, up to an hour', () => {
    const waits = [7000, 1000, HOUR, 2 * HOUR].map((retryAfterMs) =>
      afterTry({ failures: 0, failingMs: null }, { ...FAILED, retryAfterMs }, 0),
    );
    expect(waits).toMatchObject([7000, 5000, HOUR, HOUR].map((inMs) => ({ kind: 'retry', inMs })));
  });

  it('disables its destination when that is gone, or after five days without a success', () => {
    const gone = { ...FAILED, status: 410, error: 'Answered 410', isGone: true };
    const why = 'Nothing could be delivered for five days: Answered 500';
    for (const [failingMs, tried, next] of [
      [null, gone, { kind: 'disable', why: 'Answered 410' }],
      [5 * DAY - 1, FAILED, { kind: 'retry' }],
      [5 * DAY, FAILED, { kind: 'disable', why }],
      [6 * DAY, { kind: 'delivered', status: 200 }, { kind: 'delivered' }],
    ] as const) {
      expect(afterTry({ failures: 9, failingMs }, tried, 0)).toMatchObject(next);
    }
  });

  it('is tried within eleven hours, whatever it answers', () => {
    const outcome = fc.record({
      kind: fc.constant('failed' as const),
      status: fc.option(fc.integer({ min: 100, max: 599 })),
      error: fc.string(),
      retryAfterMs: fc.option(fc.nat(), { nil: undefined }),
    });
    fc.assert(
      fc.property(
        fc.nat({ max: 1000 }),
        outcome,
        fc.double({ min: 0, max: 1, noNaN: true }),
        (n, tried, random) => {
          const next = afterTry({ failures: n, failingMs: null }, tried, random);
          const inMs = next.kind === 'retry' ? next.inMs : Number.NaN;
          expect(inMs).toBeGreaterThanOrEqual(5000);
          expect(inMs).toBeLessThanOrEqual(11 * HOUR);
        },
      ),
    );
  });
});
