// Tests what charts draw: the series of adoption, two releases at the same age, the bars of a fleet, the
// devices below a minimum version, and the colors of versions, which each keeps.

import { describe, expect, it } from 'vitest';
import {
  adoptionSeries,
  ageRows,
  ageSeries,
  stackedRows,
} from '../../src/console/format/adoption-series.ts';
import { belowMinimum, sumBy, versionNamer } from '../../src/console/format/fleet-bars.ts';
import { colorAt, colorPlaces } from '../../src/console/format/version-colors.ts';
import type { FleetCell } from '../../src/contract/console-fleet.ts';
import type { AdoptionCurve } from '../../src/contract/rollout-plan.ts';

const T1 = '2026-01-01T00:00:00.000Z';
const T2 = '2026-01-01T01:00:00.000Z';

const COUNTED = { isMinimum: false };

describe('the series', () => {
  it('has every version at every time, newest version first', () => {
    const series = adoptionSeries([
      { at: T2, version: '1.10.0', devices: 3, ...COUNTED },
      { at: T1, version: '1.9.0', devices: 5, ...COUNTED },
      { at: T2, version: '1.9.0', devices: 2, isMinimum: true },
    ]);
    expect(series.times).toEqual([Date.parse(T1) / 1000, Date.parse(T2) / 1000]);
    expect(series.versions).toEqual([
      { name: '1.10.0', devices: [0, 3] },
      { name: '1.9.0', devices: [5, 2] },
    ]);
    // Times with a point that is one.
    expect([...series.minimums]).toEqual([Date.parse(T2) / 1000]);
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

describe('the stack', () => {
  const series = adoptionSeries([
    { at: T1, version: '3.0.0', devices: 1, ...COUNTED },
    { at: T1, version: '2.0.0', devices: 2, ...COUNTED },
    { at: T1, version: '1.0.0', devices: 4, ...COUNTED },
  ]);

  it('puts each row upon those before it, and closes up over a hidden row', () => {
    expect(stackedRows(series, new Set())).toEqual([[1], [3], [7]]);
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

function cell(version: string, devices: number, channel = 'stable', platform = 'linux'): FleetCell {
  return { version, devices, channel, platform };
}

const CELLS = [
  ...[cell('1.0.0', 1), cell('1.1.0', 2), cell('1.1.0', 1, 'stable', 'darwin'), cell('', 5)],
];

describe('the bars of versions', () => {
  it.each<[string, FleetCell[], [string, number][]]>([
    [
      'of one channel have its versions, largest first',
      CELLS,
      [
        ['', 5],
        ['1.1.0', 3],
        ['1.0.0', 1],
      ],
    ],
    [
      'of several channels are for each, but for devices whose version is unknown',
      [...CELLS, cell('1.1.0', 2, 'beta'), cell('', 1, 'beta')],
      [
        ['', 6],
        ['1.1.0 · stable', 3],
        ['1.1.0 · beta', 2],
        ['1.0.0 · stable', 1],
      ],
    ],
    ['of no device are none', [], []],
  ])('%s', (_, cells, bars) => {
    expect(sumBy(cells, versionNamer(cells))).toEqual(bars);
  });
});

describe('the devices below a minimum version', () => {
  const cells = [cell('1.0.0', 1), cell('1.9.0', 2), cell('1.10.0', 4), cell('', 8), cell('x', 16)];

  it.each([
    ['1.10.0', { limit: '1.10.0', below: 3 }],
    ['v1.9', { limit: '1.9.0', below: 1 }],
    ['1.0.0', { limit: '1.0.0', below: 0 }],
    ['2.0.0-rc.1', { limit: '2.0.0-rc.1', below: 7 }],
    ['1.', undefined],
  ])('%s: %j; one whose version is not known is not below', (minimum, found) => {
    expect(belowMinimum(cells, minimum)).toEqual(found);
  });
});

const NONE: ReadonlyMap<string, number> = new Map();

/** Returns the indices of the palette in the order of the names. */
function placesOf(names: readonly string[], kept: Record<string, number> = {}) {
  const places = colorPlaces(new Map(Object.entries(kept)), names);
  return names.map((name) => places.get(name));
}

it.each<[why: string, names: string[], kept: Record<string, number>, places: unknown[]]>([
  ['the hash of its text', ['1.0.0'], {}, [4]],
  ['what it had, whatever its hash says', ['1.0.0'], { '1.0.0': 5 }, [5]],
  ['the next one, when an older version has that', ['1.0.0', '1.1.0'], { '1.1.0': 4 }, [5, 4]],
  ['none that a version has which is not shown', ['1.0.0'], { '0.9.0': 4 }, [5]],
  ['the same beside a newer one', ['1.2.0', '1.1.0', '1.0.0'], {}, [2, 3, 4]],
  ['none, when it is no version', ['Unknown', 'Others'], {}, [undefined, undefined]],
])('a version has %s', (_, names, kept, places) => {
  expect(placesOf(names, kept)).toEqual(places);
});

describe('many versions', () => {
  const versions = Array.from({ length: 8 }, (_, index) => `1.${index}.0`);

  it('differ as long as there are colors, and the newest of more is gray', () => {
    expect(new Set(placesOf(versions)).size).toBe(8);
    const places = colorPlaces(NONE, [...versions, '2.0.0']);
    expect(new Set(places.values()).size).toBe(9);
    expect(colorAt(places.get('2.0.0'))).toBe('#868e96');
  });

  it('share no color that is shown, when those that are not shown have them all', () => {
    const kept = Object.fromEntries(versions.map((version, index) => [version, index]));
    expect(placesOf(['2.0.0', '2.1.0'], kept)).toEqual([5, 6]);
  });
});

it('a place of the palette is a color, every other one gray', () => {
  expect([0, 7, 8, undefined].map(colorAt)).toEqual([
    ...['#4c6ef5', '#b08900', '#868e96', '#868e96'],
  ]);
});
