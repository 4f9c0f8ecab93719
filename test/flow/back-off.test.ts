// Tests the delays between attempts: the shortest first, twice as long after every failure, never above the
// limit.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { backOffMs } from '../../src/flow/pause.ts';

it('begins with the shortest delay and doubles up to the longest', () => {
  const delays = [1, 2, 3, 4, 5, 6, 7, 8].map((failures) =>
    backOffMs({ minMs: 100, maxMs: 5000 }, failures),
  );
  expect(delays).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000]);
});

it('stays within its limits and never gets shorter, however often attempts have failed', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1000 }),
      fc.integer({ min: 1000, max: 60_000 }),
      fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constant(1e9)),
      (minMs, maxMs, failures) => {
        const delay = backOffMs({ minMs, maxMs }, failures);
        expect(delay).toBeGreaterThanOrEqual(minMs);
        expect(delay).toBeLessThanOrEqual(maxMs);
        expect(backOffMs({ minMs, maxMs }, failures + 1)).toBeGreaterThanOrEqual(delay);
      },
    ),
  );
});
