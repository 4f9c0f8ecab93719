// Marker beside the directory of the embedded database, made once the database was there. A directory that
// was used and has no database any more has lost it (another volume is mounted, files were deleted): a new
// database in its place would know no app, and every device would hear that.

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const MARKER_TEXT = `This data directory of Sluice has been used. A new database is made here only after this
file and the folder "snapshots" were removed.
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

function markerOf(directory: string): string {
  return `${directory}.used`;
}
