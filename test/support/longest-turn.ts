// Measures for how long the serving thread of a node works without a pause (standstill-watch.mjs).

import { fileURLToPath } from 'node:url';
import { eventually } from './eventually.ts';
import { MAIN, type ServingNode } from './node.ts';

/** Arguments of Node.js for a node whose turns are measured. */
export const WATCHED_ARGUMENTS = [
  '--import',
  fileURLToPath(new URL('standstill-watch.mjs', import.meta.url)),
  MAIN,
];

/** Returns the longest time in ms for which the thread worked without a pause since this was asked last. */
export async function longestTurn(node: ServingNode): Promise<number> {
  const count = turnsIn(node.output()).length;
  process.kill(node.process.pid, 'SIGUSR2');
  await eventually('the node tells', () => turnsIn(node.output()).length > count);
  return turnsIn(node.output()).at(-1) ?? Number.NaN;
}

function turnsIn(output: string): number[] {
  return [...output.matchAll(/^longest turn: (\S+)$/gm)].map(([, ms]) => Number(ms));
}
