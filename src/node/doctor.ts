// Examination of the data directory for `sluice doctor`: whether this account can use it, and others cannot.

import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { type Check, faulty, sound } from '../contract/diagnosis.ts';

const NAME = 'data-dir';
/** Bits of a mode that let anybody but the owner in. */
const OTHERS = 0o077;
/** Maximum number of files and folders that are looked at: some seconds' worth. */
const ENTRIES_MAX = 200_000;

/** Examines the directory. Never throws, and makes nothing. */
export function examineDataDirectory(path: string): Check {
  const directory = resolve(path);
  try {
    if (!isThere(directory)) return missingCheck(directory);
    const stats = statSync(directory);
    if (!stats.isDirectory()) return faulty(NAME, `${directory} is no directory`);
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    // Windows has neither accounts by number nor such modes.
    if (process.getuid === undefined) return sound(NAME, directory);
    return ownershipCheck(directory, stats.uid, stats.mode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return faulty(NAME, `${directory} cannot be used by this account (${code ?? String(error)})`);
  }
}

function ownershipCheck(directory: string, owner: number, mode: number): Check {
  const foreign = findForeign(directory, owner);
  if (foreign !== undefined) {
    const name = relative(directory, foreign);
    return faulty(NAME, `${directory} is of account ${owner}, ${name} in it is not: chown it`);
  }
  return (mode & OTHERS) === 0
    ? sound(NAME, `${directory} is for account ${owner} only`)
    : sound(NAME, `${directory} lets other accounts in; the next start ends that`);
}

/** Returns something below a directory that is of another account; undefined where nothing is. */
function findForeign(directory: string, owner: number): string | undefined {
  const folders = [directory];
  let count = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      // A service that runs removes files meanwhile. A link counts as what it leads to.
      const stats = statSync(path, { throwIfNoEntry: false });
      if (stats !== undefined && stats.uid !== owner) return path;
      if (entry.isDirectory()) folders.push(path);
      if (++count >= ENTRIES_MAX) return undefined;
    }
  }
  return undefined;
}

/** Looks for the nearest directory that is there, in which the first start makes the others. */
function missingCheck(directory: string): Check {
  const above = nearestAbove(directory);
  if (!statSync(above).isDirectory()) return faulty(NAME, `${above} is no directory`);
  accessSync(above, constants.W_OK | constants.X_OK);
  return sound(NAME, `${directory} is made at the first start`);
}

/**
 * Returns the nearest of what is above a directory that is there. Nothing is below a file: of that `statSync`
 * throws with Node 20, and finds nothing with Node 22.
 */
function nearestAbove(directory: string): string {
  const above = dirname(directory);
  return above === directory || isThere(above) ? above : nearestAbove(above);
}

function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return false;
    throw error;
  }
}
