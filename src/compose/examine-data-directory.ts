// Examination of the data directory for `sluice doctor`: whether this account can use it, and others cannot.

import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type Check, faulty, sound } from '../contract/diagnosis.ts';

const NAME = 'data-dir';
/** Bits of a mode that let anybody but the owner in. */
const OTHERS = 0o077;

/** Examines the directory. Never throws, and makes nothing. */
export function examineDataDirectory(path: string): Check {
  const directory = resolve(path);
  try {
    const stats = statSync(directory, { throwIfNoEntry: false });
    if (stats === undefined) return missingCheck(directory);
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
  const foreign = readdirSync(directory).find(
    (name) => statSync(join(directory, name), { throwIfNoEntry: false })?.uid !== owner,
  );
  if (foreign !== undefined) {
    return faulty(NAME, `${directory} is of account ${owner}, ${foreign} in it is not: chown it`);
  }
  return (mode & OTHERS) === 0
    ? sound(NAME, `${directory} is for account ${owner} only`)
    : sound(NAME, `${directory} lets other accounts in; the next start ends that`);
}

/** Looks for the nearest directory that is there, in which the first start makes the others. */
function missingCheck(directory: string): Check {
  let above = dirname(directory);
  while (statSync(above, { throwIfNoEntry: false }) === undefined && dirname(above) !== above) {
    above = dirname(above);
  }
  accessSync(above, constants.W_OK | constants.X_OK);
  return sound(NAME, `${directory} is made at the first start`);
}
