// The background work as a process of its own.

import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { KeptProcess } from './kept-process.ts';
import type { NodeFigures } from './node-figures.ts';

/** It has nothing that must be finished: what it took and did not record, another one takes over. */
const STOP_MS_MAX = 2000;

/** Starts it, however long that takes: that it cannot start yet is no reason not to serve. */
export function startBackgroundProcess(
  log: Log,
  metrics: Metrics,
  figures: NodeFigures,
): KeptProcess {
  const background = new KeptProcess({
    name: 'background',
    args: ['--background'],
    stopMsMax: STOP_MS_MAX,
    log,
    metrics,
    sum: () => figures.text(),
  });
  figures.include(background);
  background.start().catch((error: unknown) => {
    log.error({ err: error }, 'the background process could not start; it is tried again');
  });
  return background;
}
