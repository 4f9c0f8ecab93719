// Tests what is said of a data directory that cannot be used, at a start and by the doctor
// (docs/operating/doctor.md).

import { chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { makeDataDirectory } from '../../../src/node/assemble/data-directory.ts';
import { examineDataDirectory } from '../../../src/node/machine/doctor.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-directory-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('a file in its place, or above it, is named in words', () => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  for (const path of [file, join(file, 'edge')]) {
    expect(() => makeDataDirectory(path)).toThrow(`${file} is no directory`);
    expect(examineDataDirectory(path)).toMatchObject({
      ...{ name: 'data-dir', ok: false, message: `${file} is no directory` },
    });
  }
});

it.skipIf(process.platform !== 'linux')(
  'one that cannot be made, where a file system says that new names do not exist, is named',
  () => {
    expect(() => makeDataDirectory('/proc/sluice/data')).toThrow('/proc/sluice cannot be made');
  },
);

it('one that is missing is made, with those above it', () => {
  const path = join(folder, 'a', 'b');
  expect(examineDataDirectory(path)).toMatchObject({ ok: true });
  makeDataDirectory(path);
  expect(examineDataDirectory(path)).toMatchObject({
    ok: true,
    message: expect.stringContaining('only'),
  });
});

const isRoot = process.getuid?.() === 0;
const skipped = isRoot ? '' : ' (skipped: not root)';
it.skipIf(!isRoot)(`what another account has anywhere in it is found${skipped}`, () => {
  const directory = join(folder, 'edges');
  const journal = join(directory, 'edge', 'check-ins');
  mkdirSync(journal, { recursive: true, mode: 0o700 });
  writeFileSync(join(journal, '1'), '', { mode: 0o600 });
  // What is gone, or leads around, is no obstacle.
  symlinkSync(join(folder, 'nowhere'), join(directory, 'dangling'));
  symlinkSync(directory, join(directory, 'edge', 'around'));
  expect(examineDataDirectory(directory)).toMatchObject({ ok: true });
  for (const [path, name] of [
    [join(journal, '1'), 'edge/check-ins/1'],
    [journal, 'edge/check-ins'],
  ] as const) {
    chownSync(path, 12_345, 12_345);
    const { ok, message } = examineDataDirectory(directory);
    expect([ok, message]).toEqual([
      false,
      expect.stringContaining(`, ${name} in it is not: chown it`),
    ]);
  }
});
