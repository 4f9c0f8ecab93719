// Makes the data directory, and refuses the start of the service when it cannot be used or others can read
// it.

import {
  accessSync,
  chmodSync,
  constants,
  lstatSync,
  mkdirSync,
  readdirSync,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Mode of a new directory: it is for the account of the service only. */
const FOLDER_MODE = 0o700;

/**
 * Makes the data directory, and the directories above it, where they are missing. Throws when that is not
 * possible, or when this account may not use the directory.
 */
export function makeDataDirectory(path: string): void {
  const directory = resolve(path);
  make(directory);
  try {
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    // A disk that has become read-only still has snapshots that can be served: who writes there finds out.
    if (codeOf(error) === 'EROFS') return;
    throw new Error(`${directory} may not be written to by this account`, { cause: error });
  }
}

/**
 * Makes a directory, and those above it first. It does so step by step, because `mkdirSync` with `recursive`
 * never ends where a file system takes no new names, and says that they do not exist (`/proc`).
 */
function make(directory: string): void {
  if (tryToMake(directory)) return;
  make(dirname(directory));
  if (tryToMake(directory)) return;
  throw new Error(`${directory} cannot be made`);
}

/** Returns whether the directory is there now; false when the one above it is missing. */
function tryToMake(directory: string): boolean {
  try {
    mkdirSync(directory, { mode: FOLDER_MODE });
    return true;
  } catch (error) {
    const code = codeOf(error);
    // Another process of the node may have made it; a root cannot be made, only be there.
    if (isDirectory(directory)) return true;
    if (code === 'ENOENT' && dirname(directory) !== directory) return false;
    throw new Error(reasonOf(directory, code), { cause: error });
  }
}

/** Returns why a directory cannot be made, in words like those of `sluice doctor`. */
function reasonOf(directory: string, code: string | undefined): string {
  if (code === 'EEXIST') return `${directory} is no directory`;
  if (code === 'ENOTDIR') return `${dirname(directory)} is no directory`;
  return `${directory} cannot be made by this account (${code})`;
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

// Access to the data directory: only its owner may enter it and read its files, because they hold secrets,
// notes and targeting of releases, and the embedded database.

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
