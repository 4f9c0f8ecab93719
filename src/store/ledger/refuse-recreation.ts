// Markers beside the directory of the embedded database. One is made once the database was there: a
// directory that was used and has no database any more has lost it (another volume is mounted, files were
// deleted), and a new database in its place would know no app, which every device would hear. Another one
// stands beside copies that a backup took: what starts from one goes on from an earlier state, as after the
// restore of a dump.

import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const MARKER_TEXT = `This data directory of Sluice has been used. A new database is made here only after this
file and the folder "snapshots" were removed.
`;

const COPY_TEXT = `A backup made this copy of the ledger. The first start from it removes this file.
`;

/**
 * Throws when a directory has been used, or channels of it are remembered, and it has no database. The
 * message says what an operator can do.
 */
export function refuseRecreation(directory: string, rememberedCount = 0): void {
  if (existsSync(join(directory, 'PG_VERSION'))) return;
  const isMarked = existsSync(markerOf(directory));
  if (!isMarked && rememberedCount === 0) return;
  throw new Error(
    `This directory has been used, and there is no database in ${directory}. ` +
      'Mount it or restore a backup; set DATABASE_URL if the database is elsewhere. ' +
      `To start anew, remove ${markerOf(directory)} and the folder "snapshots" beside it.`,
  );
}

/** Marks a directory as used. Does nothing when it is marked. */
export function markUsed(directory: string): void {
  const path = markerOf(directory);
  if (!existsSync(path)) writeFileSync(path, MARKER_TEXT, { mode: 0o600 });
}

/** Marks a directory as a copy. */
export function markCopied(directory: string): void {
  writeFileSync(copyMarkerOf(directory), COPY_TEXT, { mode: 0o600 });
}

/** Whether a directory is a copy that nothing was started from yet. */
export function isCopied(directory: string): boolean {
  return existsSync(copyMarkerOf(directory));
}

/** Takes the mark of a copy away, once it is known to be one. */
export function forgetCopied(directory: string): void {
  rmSync(copyMarkerOf(directory), { force: true });
}

function copyMarkerOf(directory: string): string {
  return `${directory}.copy`;
}

function markerOf(directory: string): string {
  return `${directory}.used`;
}
