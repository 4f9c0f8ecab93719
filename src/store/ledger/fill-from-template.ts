// Creates a new embedded ledger as a copy of one that the build made and migrated, because PGlite would take
// seconds to create one. Migrations that the copy does not have are applied to it, as to any older ledger.

import { chmodSync, cpSync, existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Folder of the template in the build; it does not exist while the build itself makes it. */
const TEMPLATE = fileURLToPath(new URL('template', import.meta.url));

/**
 * Fills an empty directory from the template and leaves any other as it is. The copy is made beside the
 * directory and replaces it when it is complete, so that a copy that was cut off is never taken for a ledger.
 */
export function fillFromTemplate(directory: string, template = TEMPLATE): void {
  if (!existsSync(template) || readdirSync(directory).length > 0) return;
  const draft = `${directory}.draft`;
  rmSync(draft, { recursive: true, force: true });
  cpSync(template, draft, { recursive: true });
  chmodSync(draft, 0o700);
  try {
    renameSync(draft, directory);
  } catch (error) {
    rmSync(draft, { recursive: true });
    // A mounted volume cannot be replaced by a rename; PGlite then creates the ledger in it.
    if (!isMountPoint(error)) throw error;
  }
}

function isMountPoint(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return error.code === 'EBUSY' || error.code === 'EXDEV';
}
