// Tests how minimum versions of systems are written for updaters, by electron-updater's own comparison with
// the version of the kernel, and by the rules of WinSparkle.

import { describe, expect, it } from 'vitest';
import { kernelVersion, winSparkleVersion } from '../../src/updater/system-version.ts';
import { isSupportedByElectron } from '../support/electron-client.ts';

it.each([
  ['darwin', '10.6.8', '10.0.0'],
  ['darwin', '10.13', '17.0.0'],
  ['darwin', '10.14.4', '18.5.0'],
  ['darwin', '10.15.4', '19.4.0'],
  ['darwin', '10.15.7', '19.6.0'],
  ['darwin', '10.16', '20.0.0'],
  ['darwin', '11', '20.0.0'],
  ['darwin', '11.7.10', '20.6.0'],
  ['darwin', '12.3', '21.4.0'],
  ['darwin', '13', '22.0.0'],
  ['darwin', '13.3', '22.4.0'],
  ['darwin', '13.7', '22.6.0'],
  ['darwin', '14.4', '23.4.0'],
  ['darwin', '14.8.2', '23.6.0'],
  ['darwin', '15', '24.0.0'],
  ['darwin', '15.7', '24.6.0'],
  ['darwin', '26', '25.0.0'],
  ['darwin', '26.1', '25.1.0'],
  ['darwin', '26.2', '25.2.0'],
  ['darwin', '26.7', '25.6.0'],
  ['darwin', '27', '27.0.0'],
  ['darwin', '27.1.1', '27.1.0'],
  ['darwin', '28.2', '28.2.0'],
  // Already of the kernel, as electron-builder writes it.
  ['darwin', '23.4.0', '23.4.0'],
  ['darwin', '21', '21.0.0'],
  ['windows', '7', '6.1.0'],
  ['windows', '8', '6.2.0'],
  ['windows', '8.1', '6.3.0'],
  ['windows', '6.1.7601', '6.1.7601'],
  ['windows', '10', '10.0.0'],
  ['windows', '10.0.17763', '10.0.17763'],
  ['windows', '10.0.17763.0', '10.0.17763'],
  ['windows', '11', '10.0.22000'],
  ['windows', '11.0.22631', '10.0.22631'],
  ['linux', '5.15', '5.15.0-0'],
  ['freebsd', '14.1', '14.1.0'],
])('%s %s is %s to electron-updater', (platform, system, kernel) => {
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

/** Versions of macOS that begin and end a line, with what `uname -r` prints on them. */
const LINES = [
  ...[['10.15', '19.0.0'] as const, ['10.15.7', '19.6.0'] as const],
  ...[['11.0.1', '20.1.0'] as const, ['11.7.10', '20.6.0'] as const],
  ...[['12.0.1', '21.1.0'] as const, ['12.7.6', '21.6.0'] as const],
  ...[['13.0', '22.1.0'] as const, ['13.7.8', '22.6.0'] as const],
  ...[['14.0', '23.0.0'] as const, ['14.8.3', '23.6.0'] as const],
  ...[['15.0', '24.0.0'] as const, ['15.7.3', '24.6.0'] as const],
  ...[['26.0', '25.0.0'] as const, ['26.6', '25.6.0'] as const],
  ...[['27.0', '27.0.0'] as const],
];

describe('by the comparison of electron-updater itself', () => {
  const accepts = (minimum: string, kernel: string, platform = 'darwin') =>
    isSupportedByElectron(kernelVersion(platform, minimum), kernel);

  it.each(LINES)('macOS %s, which is Darwin %s, is no older than itself', (version, kernel) => {
    expect(accepts(version, kernel)).toBe(true);
  });

  it('the last macOS of each line has what every version of it asks for, and of those before', () => {
    const lines = ['10.15', '11', '12', '13', '14', '15', '26', '27'];
    const last = [...LINES.filter((_, index) => index % 2 === 1), ['27.6', '27.6.0'] as const];
    for (const [index, [, kernel]] of last.entries()) {
      for (const line of lines.slice(0, index + 1)) {
        for (let update = 0; update <= 9; update++) {
          expect([`${line}.${update}`, kernel, accepts(`${line}.${update}`, kernel)]).toEqual([
            `${line}.${update}`,
            kernel,
            true,
          ]);
        }
      }
      const next = lines[index + 1];
      if (next !== undefined) expect(accepts(next, kernel)).toBe(false);
    }
  });

  it.each([
    ['5.15', '5.15.0-91-generic', true],
    ['5.15', '5.14.0-503.11.1.el9', false],
    ['6.1', '6.1.0-13-amd64', true],
    ['6.1.0', '6.1.0', true],
    ['6.2', '6.1.0-13-amd64', false],
    ['6.1', '6.12.48+deb13-amd64', true],
  ])('a Linux that asks for %s runs on %s: %s', (minimum, kernel, isSupported) => {
    expect(accepts(minimum, kernel, 'linux')).toBe(isSupported);
  });

  it.each([
    ['7', '6.1.7601', true],
    ['8.1', '6.3.9600', true],
    ['8.1', '6.2.9200', false],
    ['10', '6.3.9600', false],
    ['10', '10.0.10240', true],
    ['11', '10.0.19045', false],
    ['11', '10.0.22631', true],
  ])('a Windows that asks for %s runs on %s: %s', (minimum, kernel, isSupported) => {
    expect(accepts(minimum, kernel, 'windows')).toBe(isSupported);
  });
});
