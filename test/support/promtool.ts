// Runs promtool, the checker that comes with Prometheus.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { findBinary } from './find-binary.ts';

/** The `promtool` binary, when there is one. */
export function findPromtool(): string | undefined {
  return findBinary('promtool');
}

/**
 * Runs it to its end; returns its exit code, and all that it has printed. The test's thread goes on, so that
 * it learns which connections a service has closed meanwhile.
 */
export async function promtool(
  args: readonly string[],
  input = '',
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(findPromtool() ?? 'promtool', [...args]);
  child.stdin.end(input);
  const printed = Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output: (await printed).join('') };
}
