// Measures for how long the event loop of a node is blocked.

import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from './eventually.ts';
import type { NodeSettings, ServingNode } from './node.ts';

/** Returns the settings that load the probe into a node; it writes to files in `folder`. */
export function probeSettings(folder: string): NodeSettings {
  const module = new URL('event-loop-probe.mjs', import.meta.url);
  return { NODE_OPTIONS: `--import ${module.href}`, EVENT_LOOP_PROBE: folder };
}

/** Returns the longest time in milliseconds since the last call in which a node answered nothing. */
export async function readProbe(folder: string, node: ServingNode): Promise<number> {
  const path = join(folder, String(node.process.pid));
  rmSync(path, { force: true });
  process.kill(node.process.pid, 'SIGUSR2');
  let blockedMs: number | undefined;
  await eventually('the probe answers', () => {
    blockedMs = readIfThere(path);
    return blockedMs !== undefined;
  });
  return blockedMs ?? Number.NaN;
}

function readIfThere(path: string): number | undefined {
  try {
    return Number(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}
