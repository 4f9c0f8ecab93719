// Tests what the benchmark of DDI counts by itself: calls at a constant rate, and figures beside bounds.

import { expect, it } from 'vitest';
import { callAtRate } from '../../bench/suite/ddi/call-at-rate.ts';
import { figureRow } from '../../bench/suite/ddi/part.ts';

it('calls are made in order of when they are due, whatever others do, and failed ones are counted', async () => {
  const dues: number[] = [];
  const asked: number[] = [];
  const failed = await callAtRate({ rate: 1000, count: 40 }, async (index, due) => {
    asked.push(index);
    dues.push(due);
    // The first call ends after the last one has begun.
    while (index === 0 && asked.length < 40) await new Promise((resolve) => setImmediate(resolve));
    if (index % 10 === 9) throw new Error(index < 20 ? 'early' : 'late');
  });
  expect(failed).toEqual({ 'Error: early': 2, 'Error: late': 2 });
  expect(asked).toEqual(Array.from({ length: 40 }, (_, index) => index));
  expect((dues[39] ?? 0) - (dues[0] ?? 0)).toBeCloseTo(39);
});

it('a figure is within its bound up to the bound itself, and undecided when it is not known', () => {
  const within = (value: number) => figureRow('p99', value, 25).within;
  expect([24, 25, 26, Number.NaN].map(within)).toEqual(['yes', 'yes', 'no', '-']);
});
