// Creates a new embedded ledger from a migrated copy in the build, because PGlite would take seconds to
// create one. The start applies migrations that the copy lacks, as for any older ledger.

import { chmodSync, cpSync, existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Folder of the template in the build; missing while the build creates it. */
const TEMPLATE = fileURLToPath(new URL('template', import.meta.url));

/**
 * Fills an empty directory from the template and leaves any other as it is. Copies to a draft beside it and
 * renames that, so that an incomplete copy is never taken for a ledger.
 */
export function fillFromTemplate(directory: string, template = TEMPLATE): void {
  if (!existsSync(template) || readdirSync(directory).length > 0) return;
  const draft = `${directory}.draft`;
  rmSync(draft, { recursive: true, force: true });
  try {
    // With a filter Node copies file by file: without one, Node 22 calls a full disk an unknown fault (EIO).
    cpSync(template, draft, { recursive: true, filter: () => true });
    chmodSync(draft, 0o700);
    renameSync(draft, directory);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    // A rename cannot replace a mounted volume; PGlite then creates the ledger in it.
    if (!isMountPoint(error)) throw error;
  }
}

function isMountPoint(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return error.code === 'EBUSY' || error.code === 'EXDEV';
}
