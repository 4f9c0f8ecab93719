// Tests that a backup removes nothing but the copy that the service made for it.

import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { backupFile } from '../../../src/cli/call/backup-file.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-backup-file-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

it('a copy is packed and removed', async () => {
  const directory = join(folder, 'backup');
  mkdirSync(directory);
  writeFileSync(join(directory, 'ledger.copy'), '');
  const { bytes } = await backupFile(join(folder, 'file'), async () => ({ directory }));
  expect(bytes).toBeGreaterThan(0);
  expect(existsSync(directory)).toBe(false);
});

it.each(['photos', 'backup'])('a directory %s that is no copy stays as it is', async (name) => {
  const directory = join(folder, name);
  mkdirSync(directory);
  writeFileSync(join(directory, 'kept'), '');
  await expect(backupFile(join(folder, 'file'), async () => ({ directory }))).rejects.toThrow(
    'is no copy of a ledger',
  );
  expect(existsSync(join(directory, 'kept'))).toBe(true);
  expect(existsSync(join(folder, 'file'))).toBe(false);
});
