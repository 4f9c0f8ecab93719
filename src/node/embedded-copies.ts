// Copies of the embedded ledger for `sluice backup`. One at a time lies in the data directory: whoever takes
// a backup packs and removes it.

import { copyFileSync, existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Failure, fail } from '../contract/failure.ts';
import { markCopied } from '../store/ledger/refuse-recreation.ts';
import type { LedgerCopies } from '../store/ledger-copies.ts';

/** Milliseconds after which a copy that nobody has removed was broken off. */
const ABANDONED_MS = 10 * 60_000;
/** What belongs to the database: its marker, and the secrets without which it is of little use. */
const BESIDE = ['ledger.used', 'admin-token', 'secret-key'];

export class EmbeddedCopies implements LedgerCopies {
  private readonly dataDir: string;
  private readonly copyLedger: ((directory: string) => Promise<void>) | undefined;

  /** Without `copyLedger`, which copies the files of the database, the ledger is not embedded. */
  constructor(dataDir: string, copyLedger: ((directory: string) => Promise<void>) | undefined) {
    this.dataDir = resolve(dataDir);
    this.copyLedger = copyLedger;
  }

  async make(): Promise<{ readonly directory: string } | Failure<'notEmbedded' | 'backupRunning'>> {
    if (this.copyLedger === undefined) return fail('notEmbedded');
    const directory = join(this.dataDir, 'backup');
    const madeAt = statSync(directory, { throwIfNoEntry: false })?.mtimeMs;
    if (madeAt !== undefined) {
      if (Date.now() - madeAt < ABANDONED_MS) return fail('backupRunning');
      rmSync(directory, { recursive: true, force: true });
    }
    mkdirSync(directory, { mode: 0o700 });
    try {
      await this.copyLedger(join(directory, 'ledger'));
      markCopied(join(directory, 'ledger'));
      for (const name of BESIDE) {
        const path = join(this.dataDir, name);
        if (existsSync(path)) copyFileSync(path, join(directory, name));
      }
    } catch (error) {
      rmSync(directory, { recursive: true, force: true });
      throw error;
    }
    return { directory };
  }
}
