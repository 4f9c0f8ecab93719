// Tests the series and the table of two releases at the same age.

import { describe, expect, it } from 'vitest';
import { ageRows, ageSeries, ageText } from '../../src/console/format/adoption-series.ts';
import type { AdoptionCurve } from '../../src/contract/release-trouble.ts';

const curve = (version: string, devices: readonly number[]): AdoptionCurve => ({
  version,
  ages: devices.map((count, index) => ({ hours: index + 1, devices: count })),
});

describe('two releases at the same age', () => {
  it('become shares of the same fleet at the same ages', () => {
    const adoption = {
      release: curve('2.0.0', [1, 5]),
      before: curve('1.0.0', [2, 250]),
      fleet: 200,
    };
    expect(ageSeries(adoption)).toEqual({
      ...{ hours: [0, 1, 2], release: [0, 0.5, 2.5] },
      // More than there are now were on it once.
      before: [0, 1, 100],
    });
  });

  it('have no line where nothing was counted', () => {
    const none = { version: '1.0.0', ages: [] };
    const adoption = { release: curve('2.0.0', [1]), before: none, fleet: 10 };
    expect(ageSeries(adoption).before).toEqual([null, null]);
    expect(ageRows(adoption)).toEqual([{ label: 'Now, after 1 h', release: 1, before: null }]);
    expect(ageSeries({ ...adoption, release: none, before: curve('1.0.0', [4]) })).toEqual({
      ...{ hours: [0, 1], release: [null, null], before: [0, 40] },
    });
  });

  it('are compared at a few ages, the present one last', () => {
    const counts = Array.from({ length: 30 }, (_, index) => index + 1);
    const adoption = { release: curve('2.0.0', counts), before: null, fleet: 100 };
    expect(ageRows(adoption)).toEqual([
      { label: 'After 1 h', release: 1, before: null },
      { label: 'After 6 h', release: 6, before: null },
      { label: 'After 1 d', release: 24, before: null },
      { label: 'Now, after 1 d 6 h', release: 30, before: null },
    ]);
  });
});

describe('an age', () => {
  it.each([
    [0, '0 h'],
    [23, '23 h'],
    [24, '1 d'],
    [30, '1 d 6 h'],
  ])('of %d hours reads %s', (hours, text) => {
    expect(ageText(hours)).toBe(text);
  });
});
