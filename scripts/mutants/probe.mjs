// Notes in a file when a mutant's function runs: a probe is loaded by the tests' processes and by the nodes
// that they start. `reach.ts` puts it into a copy of the tree, beside the file that it writes.

import { appendFileSync } from 'node:fs';
import { join } from 'node:path';

const NOTES = join(import.meta.dirname, 'reached.txt');
/** Milliseconds in which a process notes a mutant once: shorter than a test that calls a service. */
const NOTED_MS = 5;
/** @type {Map<string, number>} */
const noted = new Map();

/**
 * Notes that the function of a mutant runs now.
 * @param {string} id
 */
export function reach(id) {
  const now = Date.now();
  if (now - (noted.get(id) ?? 0) < NOTED_MS) return;
  noted.set(id, now);
  appendFileSync(NOTES, `${now} ${id}\n`);
}
