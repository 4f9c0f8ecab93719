// Runs the `sluice` command: as a script would, in a process of its own, or in the process of the test, which
// takes a hundredth of the time.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { vi } from 'vitest';
import { runCommandLine } from '../../src/cli/command/command-line.ts';
import { baseEnvironment } from './base-environment.ts';

export const SLUICE_COMMAND = fileURLToPath(new URL('../../dist/cli/sluice.js', import.meta.url));

export type CommandResult = {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
};

/** Runs the command to its end, in an environment that has nothing but what is given. */
export function runSluice(args: readonly string[], env: NodeJS.ProcessEnv): Promise<CommandResult> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [SLUICE_COMMAND, ...args],
      { env: { ...baseEnvironment(), ...env }, timeout: 120_000 },
      (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr }),
    );
  });
}

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a command in this process, with the same environment; one at a time, because its environment and its
 * output are those of the process. `addMore` adds commands to those that ask a service.
 */
export function runSluiceHere(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  addMore?: (program: Command) => void,
): Promise<CommandResult> {
  const result = last.then(async () => {
    const own = process.env;
    const printed = { stdout: '', stderr: '' };
    const spies = (['stdout', 'stderr'] as const).map((stream) =>
      vi.spyOn(process[stream], 'write').mockImplementation((text) => {
        printed[stream] += String(text);
        return true;
      }),
    );
    process.env = { ...baseEnvironment(), ...env };
    try {
      return { code: await runCommandLine(args, addMore), ...printed };
    } finally {
      process.env = own;
      for (const spy of spies) spy.mockRestore();
    }
  });
  last = result.catch(() => undefined);
  return result;
}
