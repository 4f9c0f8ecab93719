// Tests when a delivery is tried again, and when its destination is disabled.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { afterTry, type TryOutcome } from '../../src/notify/delivery-state.ts';

const FAILED: TryOutcome = { kind: 'failed', status: 500, error: 'Answered 500' };
const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

describe('a delivery (Delivery)', () => {
  it.each([
    [0, 5000],
    [1, MINUTE],
    [2, 5 * MINUTE],
    [3, 30 * MINUTE],
    [4, 2 * HOUR],
    [5, 5 * HOUR],
    [6, 10 * HOUR],
    [7, 10 * HOUR],
    [50, 10 * HOUR],
  ])('that failed %d times before is tried again after %d ms', (failures, inMs) => {
    const progress = { failures, failingMs: null };
    expect(afterTry(progress, FAILED, 0)).toEqual({ kind: 'retry', inMs });
    expect(afterTry(progress, FAILED, 1)).toEqual({ kind: 'retry', inMs: Math.round(inMs * 1.1) });
  });

  it('that succeeds is done, however long nothing did', () => {
    const progress = { failures: 9, failingMs: 6 * DAY };
    expect(afterTry(progress, { kind: 'delivered', status: 200 }, 0)).toEqual({
      kind: 'delivered',
    });
  });

  it.each([
    [7000, 7000],
    [1000, 5000],
    [HOUR, HOUR],
    [2 * HOUR, HOUR],
  ])('waits as long as the receiver asks for, %d ms, up to an hour: %d ms', (asked, inMs) => {
    const outcome = { ...FAILED, retryAfterMs: asked };
    expect(afterTry({ failures: 0, failingMs: null }, outcome, 0)).toEqual({ kind: 'retry', inMs });
  });
});

describe('a destination', () => {
  it('is disabled when it says that it is gone', () => {
    const outcome: TryOutcome = {
      kind: 'failed',
      status: 410,
      error: 'Answered 410',
      isGone: true,
    };
    const progress = { failures: 0, failingMs: null };
    expect(afterTry(progress, outcome, 0)).toEqual({ kind: 'disable', why: 'Answered 410' });
  });

  it('is disabled after five days without a success', () => {
    const failing = (failingMs: number) => afterTry({ failures: 9, failingMs }, FAILED, 0);
    expect(failing(5 * DAY - 1)).toMatchObject({ kind: 'retry' });
    expect(failing(5 * DAY)).toEqual({
      kind: 'disable',
      why: 'Nothing could be delivered for five days: Answered 500',
    });
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
