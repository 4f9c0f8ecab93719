// Version of this program, from the package.json above src/ and dist/, and the commit that it was built from,
// which the build writes into dist/.

import { readFileSync } from 'node:fs';
import type { Build } from '../observe/metrics.ts';

/** Returns the version, such as `0.1.0`. */
export function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** Returns the version and the commit: `unknown` if the build had no git, or sources run without a build. */
export function build(): Build {
  return { version: version(), commit: commit() };
}

function commit(): string {
  try {
    return readFileSync(new URL('../commit', import.meta.url), 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'unknown';
    throw error;
  }
}
