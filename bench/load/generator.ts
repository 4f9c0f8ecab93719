// The load generator, seen from the process that conducts a benchmark.

import { startChild } from './child-server.ts';
import { favourSession } from './cpu-account.ts';
import type { LoadOptions, LoadResult } from './load-run.ts';

export type Generator = {
  readonly pid: number;
  /** One run at a time. */
  run(options: LoadOptions): Promise<LoadResult>;
  end(): Promise<void>;
};

/**
 * In the open loop it never sleeps, so whoever else gets the processor keeps it for milliseconds, in which
 * the generator would measure itself: it goes first.
 */
export function startGenerator(): Generator {
  const file = new URL('./generator-process.ts', import.meta.url);
  const child = startChild(file, [], {}, true);
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
