// Tests the series of adoption as charts draw them, and two releases at the same age.

import { describe, expect, it } from 'vitest';
import {
  adoptionSeries,
  ageRows,
  ageSeries,
  ageText,
  stackedRows,
} from '../../src/console/format/adoption-series.ts';
import type { AdoptionCurve } from '../../src/contract/rollout-plan.ts';

const T1 = '2026-01-01T00:00:00.000Z';
const T2 = '2026-01-01T01:00:00.000Z';

const COUNTED = { isMinimum: false };

describe('the series', () => {
  it('has every version at every time, newest version first', () => {
    const series = adoptionSeries([
      { at: T2, version: '1.10.0', devices: 3, ...COUNTED },
      { at: T1, version: '1.9.0', devices: 5, ...COUNTED },
      { at: T2, version: '1.9.0', devices: 2, ...COUNTED },
    ]);
    expect(series.times).toEqual([Date.parse(T1) / 1000, Date.parse(T2) / 1000]);
    expect(series.versions).toEqual([
      { name: '1.10.0', devices: [0, 3] },
      { name: '1.9.0', devices: [5, 2] },
    ]);
  });

  it('puts all but the largest versions together, after them, and loses no device', () => {
    const points = Array.from({ length: 12 }, (_, index) => ({
      at: T1,
      version: `1.${index}.0`,
      devices: index + 1,
      ...COUNTED,
    }));
    const { versions } = adoptionSeries(points);
    expect(versions).toHaveLength(9);
    expect(versions.at(-1)).toEqual({ name: 'Others', devices: [1 + 2 + 3 + 4] });
  });

  it('names the version nobody knows, after the versions and before the rest', () => {
    const { versions } = adoptionSeries([
      { at: T1, version: null, devices: 1, ...COUNTED },
      { at: T1, version: '', devices: 1, ...COUNTED },
      { at: T1, version: '1.0.0-rc.1', devices: 1, ...COUNTED },
      { at: T1, version: '1.0.0', devices: 1, ...COUNTED },
    ]);
    expect(versions.map(({ name }) => name)).toEqual(['1.0.0', '1.0.0-rc.1', 'Unknown', 'Others']);
  });

  it('takes no point of the hourly series, which has a point per channel and platform', () => {
    const hourly = { hour: T1, channel: 'stable', version: '1.0.0', platform: 'linux', devices: 1 };
    expect(adoptionSeries([hourly])).toEqual({ times: [], minimums: new Set(), versions: [] });
  });
});

describe('the times that have minimums', () => {
  it('are those with a point that is one', () => {
    const { minimums } = adoptionSeries([
      { at: T1, version: '1.0.0', devices: 1, isMinimum: true },
      { at: T2, version: '1.0.0', devices: 1, ...COUNTED },
    ]);
    expect([...minimums]).toEqual([Date.parse(T1) / 1000]);
  });
});

describe('the stack', () => {
  const series = adoptionSeries([
    { at: T1, version: '3.0.0', devices: 1, ...COUNTED },
    { at: T1, version: '2.0.0', devices: 2, ...COUNTED },
    { at: T1, version: '1.0.0', devices: 4, ...COUNTED },
  ]);

  it('puts each row upon those before it', () => {
    expect(stackedRows(series, new Set())).toEqual([[1], [3], [7]]);
  });

  it('closes up over a hidden row', () => {
    expect(stackedRows(series, new Set(['2.0.0']))).toEqual([[1], [null], [5]]);
  });
});

const curve = (version: string, devices: readonly number[], offered = 100): AdoptionCurve => ({
  version,
  ages: devices.map((count, index) => ({ hours: index + 1, devices: count, offered })),
});

describe('two releases at the same age', () => {
  it('become shares of the devices that each had reached: 25 % of a fleet beside all of it', () => {
    const adoption = {
      release: curve('2.0.0', [10, 40], 50),
      before: curve('1.0.0', [20, 250], 200),
    };
    expect(ageSeries(adoption)).toEqual({
      ...{ hours: [0, 1, 2], release: [0, 20, 80] },
      // More installed it than were offered it.
      before: [0, 10, 100],
    });
  });

  it('have no line where nothing was counted', () => {
    const none = { version: '1.0.0', ages: [] };
    const adoption = { release: curve('2.0.0', [1]), before: none };
    expect(ageSeries(adoption).before).toEqual([null, null]);
    expect(ageRows(adoption)).toEqual([
      { label: 'Now, after 1 h', release: { devices: 1, reached: 100 }, before: null },
    ]);
    expect(ageSeries({ ...adoption, release: none, before: curve('1.0.0', [4], 10) })).toEqual({
      ...{ hours: [0, 1], release: [null, null], before: [0, 40] },
    });
  });

  it('are compared at a few ages, the present one last', () => {
    const counts = Array.from({ length: 30 }, (_, index) => index + 1);
    const adoption = { release: curve('2.0.0', counts), before: null };
    const rows = ageRows(adoption).map(({ label, release }) => [label, release?.devices]);
    expect(rows).toEqual([
      ['After 1 h', 1],
      ['After 6 h', 6],
      ['After 1 d', 24],
      ['Now, after 1 d 6 h', 30],
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
