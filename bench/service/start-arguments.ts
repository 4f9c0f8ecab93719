// How an operator starts the service of a tree: by the `start` script of its package.json.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Returns the arguments that `npm start` gives Node.js in a tree: flags, and last the program. Throws for any
 * other kind of script.
 */
export function startArguments(folder: string): string[] {
  const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly scripts?: Readonly<Record<string, string>>;
  };
  const [program, ...args] = scripts?.start?.split(/\s+/) ?? [];
  const main = args.pop();
  if (program === 'node' && main !== undefined) return [...args, join(folder, main)];
  throw new Error(`its start script is not \`node … FILE\`: ${scripts?.start}`);
}
