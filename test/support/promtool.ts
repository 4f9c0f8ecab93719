// Runs promtool, the checker that comes with Prometheus.

import { spawnSync } from 'node:child_process';
import { findBinary } from './find-binary.ts';

/** The `promtool` binary, when there is one. */
export function findPromtool(): string | undefined {
  return findBinary('promtool');
}

/** Runs it to its end; returns its exit code, and all that it has printed. */
export function promtool(
  args: readonly string[],
  input = '',
): { readonly code: number | null; readonly output: string } {
  const { status, stdout, stderr } = spawnSync(findPromtool() ?? 'promtool', [...args], {
    input,
    encoding: 'utf8',
  });
  return { code: status, output: stdout + stderr };
}
