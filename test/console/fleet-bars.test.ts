// Tests the bars of a fleet, and the devices below a minimum version.

import { describe, expect, it } from 'vitest';
import { belowMinimum, sumBy, totalOf, versionNamer } from '../../src/console/format/fleet-bars.ts';
import type { FleetCell } from '../../src/contract/console-fleet.ts';

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

  it('are shares of all devices', () => {
    expect([totalOf(CELLS), totalOf([])]).toEqual([9, 0]);
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
