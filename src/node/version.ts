// Version of this program, from the package.json above src/ and dist/.

import { readFileSync } from 'node:fs';

/** Returns the version, such as `0.1.0`. */
export function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
