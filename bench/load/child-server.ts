// Runs a part of the benchmarks as a process of its own, and ends it with this one.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export type Child = {
  readonly pid: number;
  readonly process: ChildProcess;
  end(): Promise<void>;
};

/** What a server is to answer to every request. */
export type FixedAnswer = {
  readonly status: number;
  /** Without those that every server adds by itself. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
};

export type ChildServer = Child & { readonly port: number };

/**
 * Starts a file of bench/ in a process of its own, or even in a session of its own; its code is translated
 * once, when it is loaded.
 */
export function startChild(
  file: URL,
  args: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
  isOwnSession = false,
): Child {
  const child = fork(fileURLToPath(file), args, {
    execArgv: ['--import', 'tsx'],
    env: { ...process.env, ...environment },
    detached: isOwnSession,
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

/** Starts a server of bench/servers/ that answers the same to every request, and waits until it listens. */
export async function startChildServer(
  name: string,
  settings: unknown,
  environment: Readonly<Record<string, string>> = {},
): Promise<ChildServer> {
  const file = new URL(`../servers/${name}.ts`, import.meta.url);
  const child = startChild(file, [JSON.stringify(settings)], environment);
  const exited = once(child.process, 'exit').then(() => undefined);
  const listening = once(child.process, 'message').then(([port]) => Number(port));
  const port = await Promise.race([listening, exited]);
  if (port === undefined) throw new Error(`${name} ended at start`);
  return { ...child, port };
}
