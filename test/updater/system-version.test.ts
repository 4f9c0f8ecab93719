// Tests how minimum versions of systems are written for electron-updater, which compares three numbers with
// those of the kernel.

import { expect, it } from 'vitest';
import { kernelVersion } from '../../src/updater/system-version.ts';

it.each([
  ['darwin', '10.13', '17.0.0'],
  ['darwin', '10.15.4', '19.4.0'],
  ['darwin', '11', '20.0.0'],
  ['darwin', '12.3', '21.4.0'],
  ['darwin', '13', '22.0.0'],
  ['darwin', '13.3', '22.4.0'],
  ['darwin', '14.4', '23.4.0'],
  ['darwin', '15', '24.0.0'],
  ['darwin', '26', '25.0.0'],
  ['darwin', '26.1', '25.1.0'],
  // Already of the kernel, as electron-builder writes it.
  ['darwin', '23.4.0', '23.4.0'],
  ['darwin', '21', '21.0.0'],
  ['windows', '10', '10.0.0'],
  ['windows', '10.0.17763', '10.0.17763'],
  ['windows', '10.0.17763.0', '10.0.17763'],
  ['windows', '11', '10.0.22000'],
  ['linux', '5.15', '5.15.0'],
])('%s %s is %s to electron-updater', (platform, system, kernel) => {
  expect(kernelVersion(platform, system)).toBe(kernel);
});
