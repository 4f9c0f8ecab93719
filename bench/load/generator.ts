// Starts the process of the load generator, and hands it the runs of a benchmark.

import { startChild } from '../machine/child-process.ts';
import { favourSession } from '../machine/place-process.ts';
import type { LoadOptions } from './load-run.ts';
import type { LoadResult } from './run-load.ts';

export type Generator = {
  readonly pid: number;
  /** Does one run; only one at a time. */
  run(options: LoadOptions): Promise<LoadResult>;
  end(): Promise<void>;
};

/**
 * Starts the generator as a process with priority over all others. In the open loop it never sleeps: another
 * process on its processor would delay it by milliseconds, which would count as latency of the server.
 */
export function startGenerator(): Generator {
  const file = new URL('./generator-process.ts', import.meta.url);
  const child = startChild(file, { hasOwnSession: true });
  favourSession(child.pid);
  return {
    pid: child.pid,
    end: () => child.end(),
    run(options) {
      return new Promise((resolve, reject) => {
        const { process: generator } = child;
        const onExit = () => reject(new Error('the load generator ended'));
        generator.once('exit', onExit);
        generator.once('message', (result) => {
          generator.off('exit', onExit);
          resolve(result as LoadResult);
        });
        generator.send({ ...options, watchedRoot: process.pid });
      });
    },
  };
}
