// Value of a setting that lies in a file of its own, as Docker and Kubernetes hand secrets to a service.

import { readFileSync, statSync } from 'node:fs';

const BYTES_MAX = 65_536;

/**
 * Returns the file's text without the line ends after it. Throws, with a reason of one line that quotes
 * nothing of the file, when it is no file, is empty or too large, or cannot be read.
 */
export function readSettingFile(path: string): string {
  const value = readText(path).replace(/[\r\n]+$/, '');
  if (value === '') throw new Error('the file is empty');
  return value;
}

function readText(path: string): string {
  try {
    const stats = statSync(path);
    // Reading a pipe would wait for its writer, and on SIGHUP there is none.
    if (stats.isFile() && stats.size <= BYTES_MAX) return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`the file cannot be read (${code})`, { cause: error });
  }
  throw new Error(`must name a file of at most ${BYTES_MAX / 1024} KiB`);
}
