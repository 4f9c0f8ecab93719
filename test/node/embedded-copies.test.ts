// Tests the bounds of the copies that backups are packed from: one at a time, and none is left behind.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { fail } from '../../src/contract/failure.ts';
import { EmbeddedCopies } from '../../src/node/assemble/stores.ts';

let dataDir = '';
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'sluice-copies-'));
  writeFileSync(join(dataDir, 'secret-key'), 'key');
});
afterEach(() => rmSync(dataDir, { recursive: true }));

async function copyLedger(directory: string): Promise<void> {
  mkdirSync(directory);
}

it('a ledger that is not embedded has no copies', async () => {
  expect(await new EmbeddedCopies(dataDir, undefined).make()).toEqual(fail('notEmbedded'));
  expect(readdirSync(dataDir)).toEqual(['secret-key']);
});

it('a second copy is refused until the first is removed, or counts as broken off', async () => {
  const copies = new EmbeddedCopies(dataDir, copyLedger);
  const directory = join(dataDir, 'backup');
  expect(await copies.make()).toEqual({ directory });
  expect(readdirSync(directory).sort()).toEqual(['ledger', 'ledger.copy', 'secret-key']);
  writeFileSync(join(directory, 'left'), '');
  expect(await copies.make()).toEqual(fail('backupRunning'));
  const eleventhMinuteAgo = new Date(Date.now() - 11 * 60_000);
  utimesSync(directory, eleventhMinuteAgo, eleventhMinuteAgo);
  expect(await copies.make()).toEqual({ directory });
  expect(existsSync(join(directory, 'left'))).toBe(false);
});

it('a copy that fails leaves nothing behind', async () => {
  const copies = new EmbeddedCopies(dataDir, async (directory) => {
    mkdirSync(directory);
    throw new Error('no room');
  });
  await expect(copies.make()).rejects.toThrow('no room');
  expect(readdirSync(dataDir)).toEqual(['secret-key']);
});
