// Copies of a database by dump and restore, as a recovery site has one.

import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type FreshDatabase, freshDatabase } from './fresh-database.ts';
import { findPostgres } from './postgres-server.ts';
import { removeFolder, temporaryFolder } from './server-process.ts';

/** Dumps a database that may be in use, and restores the dump into a new one on the same server. */
export async function copiedDatabase(url: string): Promise<FreshDatabase> {
  const copy = await freshDatabase(url);
  const folder = temporaryFolder('sluice-dump-');
  const file = join(folder, 'ledger.dump');
  try {
    await runPostgres('pg_dump', ['--format=custom', '--file', file, url]);
    const restoring = ['--single-transaction', '--exit-on-error', '--dbname', copy.url];
    await runPostgres('pg_restore', [...restoring, file]);
    return copy;
  } finally {
    removeFolder(folder);
  }
}

/** Runs a program of the PostgreSQL that the tests use; returns what it prints, at most 64 MiB. */
export async function runPostgres(program: string, args: readonly string[]): Promise<string> {
  const file = join(dirname(findPostgres() ?? ''), program);
  // Beside the test: one that stands still meanwhile holds connections that nodes have ended.
  const { stdout } = await promisify(execFile)(file, args, { maxBuffer: 64 << 20 });
  return stdout;
}
