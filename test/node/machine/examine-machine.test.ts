// Tests when `sluice doctor` calls a disk nearly full, as the alert SluiceDiskFilling does.

import { expect, it } from 'vitest';
import { isTight } from '../../../src/node/machine/examine-machine.ts';

const GIB = 1024 ** 3;

it.each([
  ['255 MiB of 1 GiB', (255 / 1024) * GIB, GIB, true],
  ['257 MiB of 1 GiB', (257 / 1024) * GIB, GIB, false],
  ['4 GiB of 100 GiB', 4 * GIB, 100 * GIB, true],
  ['6 GiB of 100 GiB', 6 * GIB, 100 * GIB, false],
  ['400 GiB of 10 TiB', 400 * GIB, 10_240 * GIB, false],
])('a disk with %s free', (_what, free, size, expected) => {
  expect(isTight(free, size)).toBe(expected);
});
