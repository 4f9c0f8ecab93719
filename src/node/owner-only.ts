// Access to the data directory: only its owner may enter it and read its files, because they hold secrets,
// notes and targeting of releases, and the embedded database.

import { chmodSync, lstatSync, readdirSync } from 'node:fs';

/** Bits of a mode that let anybody but the owner in. */
const OTHERS = 0o077;

/**
 * Takes the rights of all other accounts from the directory and from everything in it. Calls `onRefused` with
 * each path whose mode cannot be changed, for one because another account owns it. Never throws.
 */
export function keepOwnerOnly(
  directory: string,
  onRefused: (path: string, error: unknown) => void,
): void {
  // Windows has no such modes: access follows from the folder that the directory is in.
  if (process.platform !== 'win32') close(directory, onRefused);
}

function close(path: string, onRefused: (path: string, error: unknown) => void): void {
  try {
    const entry = lstatSync(path);
    // What a link points to is not part of the directory.
    if (entry.isSymbolicLink()) return;
    const mode = entry.mode & 0o7777;
    if ((mode & OTHERS) !== 0) chmodSync(path, mode & ~OTHERS);
    if (!entry.isDirectory()) return;
    for (const name of readdirSync(path)) close(`${path}/${name}`, onRefused);
  } catch (error) {
    // Other processes of the node write and remove files meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') onRefused(path, error);
  }
}
