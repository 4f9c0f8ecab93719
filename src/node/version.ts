// Version of this program, as package.json has it: that file lies above src/ and dist/ alike.

import { readFileSync } from 'node:fs';

/** Returns the version, such as `0.1.0`. */
export function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
