// Tests how minimum versions of systems are written for updaters, by electron-updater's own comparison with
// the version of the kernel, and by the rules of WinSparkle.

import { describe, expect, it } from 'vitest';
import { kernelVersion, winSparkleVersion } from '../../src/updater/system-version.ts';
import { isSupportedByElectron } from '../support/electron-client.ts';
import { rowsOf } from '../support/rows-of.ts';

it.each(
  rowsOf(`
  10.0.0: darwin 10.6.8
  17.0.0: darwin 10.13
  18.5.0: darwin 10.14.4
  19.6.0: darwin 10.15.7
  20.0.0: darwin 10.16 | darwin 11
  20.6.0: darwin 11.7.10
  21.4.0: darwin 12.3
  22.6.0: darwin 13.7
  23.4.0: darwin 14.4 | darwin 23.4.0
  24.6.0: darwin 15.7
  25.0.0: darwin 26
  25.2.0: darwin 26.2
  25.6.0: darwin 26.7
  27.1.0: darwin 27.1.1
  28.2.0: darwin 28.2
  21.0.0: darwin 21
  6.1.0: windows 7
  6.2.0: windows 8
  6.3.0: windows 8.1
  6.1.7601: windows 6.1.7601
  10.0.0: windows 10
  10.0.17763: windows 10.0.17763 | windows 10.0.17763.0
  10.0.22000: windows 11
  10.0.22631: windows 11.0.22631
  5.15.0-0: linux 5.15
  14.1.0: freebsd 14.1
  `),
)('%s is %s to electron-updater (§16.13)', (of, kernel) => {
  const [platform = '', system = ''] = of.split(' ');
  expect(kernelVersion(platform, system)).toBe(kernel);
});

it.each([
  ['11', '10.0-22000'],
  ['10.0.17763', '10.0-17763'],
  ['10', '10.0'],
  ['8.1', '6.3'],
])('Windows %s is %s to WinSparkle', (system, version) => {
  expect(winSparkleVersion(system)).toBe(version);
});

/** What `uname -r` prints on the last version of each line of macOS. */
const LAST = {
  ...{ '10.15': '19.6.0', 11: '20.6.0', 12: '21.6.0', 13: '22.6.0', 14: '23.6.0', 15: '24.6.0' },
  ...{ 26: '25.6.0', 27: '27.6.0' },
};

describe('by the comparison of electron-updater itself', () => {
  const accepts = (minimum: string, kernel: string, platform = 'darwin') =>
    isSupportedByElectron(kernelVersion(platform, minimum), kernel);

  it('the last macOS of each line has what every version of it asks for, and of those before', () => {
    const last = Object.entries(LAST).sort(
      ([, a], [, b]) => Number.parseInt(a, 10) - Number.parseInt(b, 10),
    );
    for (const [index, [, kernel]] of last.entries()) {
      for (const [line] of last.slice(0, index + 1)) {
        const minima = Array.from({ length: 10 }, (_, update) => `${line}.${update}`);
        expect([kernel, minima.filter((each) => !accepts(each, kernel))]).toEqual([kernel, []]);
      }
      const [next] = last[index + 1] ?? [];
      if (next !== undefined) expect(accepts(next, kernel)).toBe(false);
    }
  });

  // Versions that begin a line.
  it.each([
    ...[
      ['10.15', '19.0.0'],
      ['11.0.1', '20.1.0'],
      ['12.0.1', '21.1.0'],
      ['13.0', '22.1.0'],
    ],
    ...[
      ['14.0', '23.0.0'],
      ['15.0', '24.0.0'],
      ['26.0', '25.0.0'],
      ['27.0', '27.0.0'],
    ],
  ])('macOS %s, which is Darwin %s, is no older than itself', (version, kernel) => {
    expect(accepts(version, kernel)).toBe(true);
  });

  it.each([
    ['linux', '5.15', '5.15.0-91-generic', true],
    ['linux', '5.15', '5.14.0-503.11.1.el9', false],
    ['linux', '6.1.0', '6.1.0', true],
    ['linux', '6.1', '6.12.48+deb13-amd64', true],
    ['windows', '7', '6.1.7601', true],
    ['windows', '8.1', '6.2.9200', false],
    ['windows', '10', '6.3.9600', false],
    ['windows', '10', '10.0.10240', true],
    ['windows', '11', '10.0.19045', false],
    ['windows', '11', '10.0.22631', true],
  ])('what asks for %s %s runs on %s: %s', (platform, minimum, kernel, isSupported) => {
    expect(accepts(minimum, kernel, platform)).toBe(isSupported);
  });
});
