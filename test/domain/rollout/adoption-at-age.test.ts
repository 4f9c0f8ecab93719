// Tests the adoption of a release by its age.

import { expect, test } from 'vitest';
import { adoptionAtAges } from '../../../src/domain/rollout/adoption-at-age.ts';

const HOUR_MS = 3_600_000;
const PUBLISHED = Date.UTC(2026, 5, 1, 10, 30);
const hour = (number: number) => Date.UTC(2026, 5, 1, 10 + number);

test('what was installed in an hour of the clock counts from the end of it on', () => {
  const installed = [
    { hourMs: hour(2), installed: 4, offered: 1 },
    { hourMs: hour(0), installed: 1, offered: 5 },
    { hourMs: hour(1), installed: 2, offered: 3 },
  ];
  expect(adoptionAtAges(PUBLISHED, installed, 4)).toEqual([
    ...[
      { hours: 1, devices: 3, offered: 8 },
      { hours: 2, devices: 7, offered: 9 },
    ],
    ...[
      { hours: 3, devices: 7, offered: 9 },
      { hours: 4, devices: 7, offered: 9 },
    ],
  ]);
});

test('many hours are told at equal distances, and the present age last', () => {
  const installed = Array.from({ length: 1000 }, (_, index) => ({
    ...{ hourMs: PUBLISHED + index * HOUR_MS, installed: 1, offered: 1 },
  }));
  const ages = adoptionAtAges(PUBLISHED, installed, 1001);
  expect(ages.length).toBeLessThanOrEqual(240);
  expect(ages.slice(0, 2)).toEqual([
    { hours: 5, devices: 5, offered: 5 },
    { hours: 10, devices: 10, offered: 10 },
  ]);
  expect(ages.at(-1)).toEqual({ hours: 1001, devices: 1000, offered: 1000 });
});

test('a release without an age has no figures', () => {
  expect(adoptionAtAges(PUBLISHED, [], 0)).toEqual([]);
});
