// Marker files beside the directory of the embedded database. `….used`: the directory has held a database. If
// it is empty later (a volume is not mounted), a new database would make every app unknown to its devices.
// `….copy`: a backup made it, so its first start continues from an earlier state and raises the epoch.

import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const MARKER_TEXT = `This data directory of Sluice has been used. A new database is made here only after this
file and the folder "snapshots" were removed.
`;

const COPY_TEXT = `A backup made this copy of the ledger. The first start from it removes this file.
`;

/**
 * Throws if the directory has no database, although it was used or the node remembers channels
 * (`rememberedCount`). The message tells the operator what to do.
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

/** Marks a directory as used. */
export function markUsed(directory: string): void {
  const path = markerOf(directory);
  if (!existsSync(path)) writeFileSync(path, MARKER_TEXT, { mode: 0o600 });
}

export function markCopied(directory: string): void {
  writeFileSync(copyMarkerOf(directory), COPY_TEXT, { mode: 0o600 });
}

/** Returns whether a directory is a copy that was not started yet. */
export function isCopied(directory: string): boolean {
  return existsSync(copyMarkerOf(directory));
}

/** Removes the mark of a copy. */
export function forgetCopied(directory: string): void {
  rmSync(copyMarkerOf(directory), { force: true });
}

function copyMarkerOf(directory: string): string {
  return `${directory}.copy`;
}

function markerOf(directory: string): string {
  return `${directory}.used`;
}
