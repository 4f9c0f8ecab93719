// Runs a file of the benchmarks in a process of its own, which ends with this one.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export type Child = {
  readonly pid: number;
  readonly process: ChildProcess;
  end(): Promise<void>;
};

export type ChildOptions = {
  readonly args?: readonly string[];
  /** Variables added to the environment of this process. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Whether the process gets a session of its own, which the system weighs against other sessions. */
  readonly hasOwnSession?: boolean;
};

/** Starts a TypeScript file as a process; its code is translated once, when it is loaded. */
export function startChild(file: URL, options: ChildOptions = {}): Child {
  const child = fork(fileURLToPath(file), options.args ?? [], {
    execArgv: ['--import', 'tsx'],
    env: { ...process.env, ...options.environment },
    detached: options.hasOwnSession ?? false,
  });
  return {
    pid: child.pid ?? -1,
    process: child,
    async end() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}
