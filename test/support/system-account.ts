// The account for servers that refuse to run as root, as PostgreSQL and PgBouncer do.

import { execFileSync } from 'node:child_process';
import { chownSync } from 'node:fs';
import { parentInMemory, temporaryFolder } from './server-process.ts';

/** Account of a server; empty for the account of the tests. */
export type SystemAccount = { readonly uid?: number; readonly gid?: number };

/** Finds an account without rights where the tests run as root; throws when there is none. */
export function findSystemAccount(): SystemAccount {
  if (process.getuid?.() !== 0) return {};
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (flag: string) => Number(execFileSync('id', [flag, name], { stdio: 'pipe' }));
      return { uid: id('-u'), gid: id('-g') };
    } catch {
      // There is no such account: the next one is tried.
    }
  }
  throw new Error('The server does not run as root, and there is neither `postgres` nor `nobody`');
}

/** Creates a folder that belongs to the account of a server, in memory if it may (`parentInMemory`). */
export function folderOf({ uid, gid }: SystemAccount, prefix: string, inMemory = false): string {
  const folder = temporaryFolder(prefix, inMemory ? parentInMemory() : undefined);
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
  return folder;
}
