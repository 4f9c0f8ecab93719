// Runs the `sluice` command as a script would run it.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

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
      { env: { PATH: process.env.PATH, ...env }, timeout: 30_000 },
      (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr }),
    );
  });
}
