// The load generator, seen from the process that conducts a benchmark.

import { once } from 'node:events';
import { startChild } from './child-server.ts';
import type { LoadOptions, LoadResult } from './load-run.ts';

export type Generator = {
  readonly pid: number;
  /** One run at a time. */
  run(options: LoadOptions): Promise<LoadResult>;
  end(): Promise<void>;
};

export function startGenerator(): Generator {
  const child = startChild(new URL('./generator-process.ts', import.meta.url));
  return {
    pid: child.pid,
    end: () => child.end(),
    async run(options) {
      const exited = once(child.process, 'exit').then(() => undefined);
      child.process.send({ ...options, watchedRoot: process.pid });
      const answer = once(child.process, 'message').then(([result]) => result as LoadResult);
      const result = await Promise.race([answer, exited]);
      if (result === undefined) throw new Error('the load generator ended');
      return result;
    },
  };
}
