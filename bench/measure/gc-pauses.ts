// Reads the garbage collections that `gc-watch.mjs` has written down.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type GcPauses = {
  /** Environment variables that make a Node.js process write down its pauses. */
  readonly environment: Readonly<Record<string, string>>;
  /** Longest pause of a process since a time (`Date.now()`), in milliseconds; 0 when none was long. */
  longestSince(pid: number, time: number): number;
  dispose(): void;
};

export const GC_WATCH = new URL('./gc-watch.mjs', import.meta.url).href;

/** Makes a folder for the pauses of any number of processes. */
export function keepGcPauses(): GcPauses {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-gc-'));
  return {
    environment: { BENCH_GC_FOLDER: folder, NODE_OPTIONS: `--import=${GC_WATCH}` },
    longestSince(pid, time) {
      const pauses = readLines(join(folder, String(pid))).map((line) =>
        line.split(' ').map(Number),
      );
      return pauses.reduce(
        (longest, [at = 0, ms = 0]) => (at >= time ? Math.max(longest, ms) : longest),
        0,
      );
    },
    dispose: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
  } catch {
    // The file is written with the first long pause.
    return [];
  }
}
