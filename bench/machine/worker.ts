// Runs TypeScript files in processes of their own, which end with this one. This file is also what runs in a
// worker: a process that calls a function of a module as often as it is told to.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { MOST_SHARE, weighSession } from './place-process.ts';

export type Worker<Options, Result, Told = never> = {
  readonly pid: number;
  run(options: Options, tell?: (told: Told) => void): Promise<Result>;
  end(): Promise<void>;
};

type Message = { readonly told: unknown } | { readonly result: unknown };
type Work = (options: unknown, tell?: (told: unknown) => void) => Promise<unknown>;

const FILE = new URL(import.meta.url);
if (process.argv[1] === fileURLToPath(FILE)) void serve(process.argv[2], process.argv[3]);

/** Starts a file as a process; its code is translated once, when it is loaded. */
export function startChild(file: URL, args: readonly string[], hasOwnSession = false) {
  const child = fork(fileURLToPath(file), args, {
    execArgv: ['--import', 'tsx'],
    detached: hasOwnSession,
  });
  const end = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  return { pid: child.pid ?? -1, process: child, end };
}

/** Starts a process for a function of a module, with priority: its delays would count as latency. */
export function startWorker<Options extends object, Result, Told = never>(
  module: URL,
  name: string,
): Worker<Options, Result, Told> {
  const { pid, process: worker, end } = startChild(FILE, [module.href, name], true);
  weighSession(pid, MOST_SHARE);
  const run = (options: Options, tell?: (told: Told) => void) =>
    new Promise<Result>((resolve, reject) => {
      const onExit = () => reject(new Error(`the process of ${name} ended`));
      const onMessage = (message: unknown) => {
        const heard = message as Message;
        if ('told' in heard) return tell?.(heard.told as Told);
        worker.off('exit', onExit).off('message', onMessage);
        resolve(heard.result as Result);
      };
      worker.once('exit', onExit).on('message', onMessage);
      worker.send({ options, isTold: tell !== undefined });
    });
  return { pid, run, end };
}

async function serve(module = '', name = ''): Promise<void> {
  const work = ((await import(module)) as Record<string, Work>)[name] as Work;
  const send = (message: Message) => process.send?.(message);
  process.on('message', async ({ options, isTold }: { options: unknown; isTold: boolean }) => {
    send({ result: await work(options, isTold ? (told) => send({ told }) : undefined) });
  });
  process.on('disconnect', () => process.exit(0));
}
