// Creates the data directory; the service does not start if it cannot use it. Only the owner may enter it,
// because it contains secrets, notes and targeting of releases, and the embedded database.

import {
  accessSync,
  chmodSync,
  constants,
  lstatSync,
  mkdirSync,
  readdirSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Mode of a new directory: only the service's account may use it. */
const FOLDER_MODE = 0o700;

/** Creates the data directory and its parents. Throws if that fails, or if this account has no access. */
export function makeDataDirectory(path: string): void {
  const directory = resolve(path);
  make(directory);
  try {
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    // The service can still serve snapshots from a read-only disk; writers report the error.
    if (codeOf(error) === 'EROFS') return;
    throw new Error(`${directory} may not be written to by this account`, { cause: error });
  }
}

/**
 * Creates a directory and its parents one by one, because `mkdirSync` with `recursive` never returns if a
 * file system refuses new names with ENOENT, as `/proc` does.
 */
function make(directory: string): void {
  if (tryToMake(directory)) return;
  make(dirname(directory));
  if (tryToMake(directory)) return;
  throw new Error(`${directory} cannot be made`);
}

/** Returns whether the directory exists now; false if its parent is missing. */
function tryToMake(directory: string): boolean {
  try {
    mkdirSync(directory, { mode: FOLDER_MODE });
    return true;
  } catch (error) {
    const code = codeOf(error);
    // Another process of the node may have created it; a root exists but cannot be created.
    if (isDirectory(directory)) return true;
    if (code === 'ENOENT' && dirname(directory) !== directory) return false;
    throw new Error(reasonOf(directory, code), { cause: error });
  }
}

/** Returns why a directory cannot be created, in the words of `sluice doctor`. */
function reasonOf(directory: string, code: string | undefined): string {
  if (code === 'EEXIST') return `${directory} is no directory`;
  if (code === 'ENOSPC') return `the disk of ${directory} is full: make room`;
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

/**
 * Reads the size of the disk that has a directory, and how much this account may still write to it (`free`),
 * in bytes; NaN if the system does not report it.
 */
export function readDiskSpace(directory: string) {
  try {
    const { bavail, blocks, bsize } = statfsSync(directory);
    return { free: bavail * bsize, size: blocks * bsize };
  } catch {
    return { free: Number.NaN, size: Number.NaN };
  }
}

/** Mode bits that give access to other accounts. */
export const OTHERS = 0o077;

/**
 * Removes the rights of other accounts from the directory and its content. Calls `onRefused` with each path
 * whose mode cannot be changed, e.g. because another account owns it. Never throws.
 */
export function keepOwnerOnly(
  directory: string,
  onRefused: (path: string, error: unknown) => void,
): void {
  // Windows has no such modes; there the parent folder determines the access.
  if (process.platform !== 'win32') close(directory, onRefused);
}

function close(path: string, onRefused: (path: string, error: unknown) => void): void {
  try {
    const entry = lstatSync(path);
    // The target of a link is not part of the directory.
    if (entry.isSymbolicLink()) return;
    const mode = entry.mode & 0o7777;
    if ((mode & OTHERS) !== 0) chmodSync(path, mode & ~OTHERS);
    if (!entry.isDirectory()) return;
    for (const name of readdirSync(path)) close(`${path}/${name}`, onRefused);
  } catch (error) {
    // Other processes of the node may remove files meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') onRefused(path, error);
  }
}
