// Files that are replaced as a whole, and whom they are for.

import { rename, writeFile } from 'node:fs/promises';

/**
 * Writes a file beside the one that it replaces, and renames it: a reader finds the old one or the new one.
 * Only one process writes to a folder, so a draft that a crash left behind is overwritten.
 */
export async function replaceFile(path: string, content: string): Promise<void> {
  const draft = `${path}.draft`;
  await writeFile(draft, content, { mode: FILE_MODE });
  await rename(draft, path);
}

/** Mode of every folder: its owner may use it, and nobody else. */
export const FOLDER_MODE = 0o700;

/** Mode of every file, likewise. */
export const FILE_MODE = 0o600;
