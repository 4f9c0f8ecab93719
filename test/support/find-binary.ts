// Locates the real servers that tests run against.

import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The first executable of that name in PATH, then in `folders`; undefined when there is none. */
export function findBinary(name: string, folders: readonly string[] = []): string | undefined {
  const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return [...path, ...folders].map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
