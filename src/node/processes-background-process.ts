// Starts the background process of the service.

import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { NodeCalls } from './node-calls.ts';
import type { NodeMetrics } from './node-metrics.ts';
import { KeptProcess } from './supervised-process.ts';

/**
 * Longest stop. The process has no work that it must finish: another one takes over check-ins that it took
 * and did not record.
 */
const STOP_MS_MAX = 2000;

/**
 * Starts the process and returns at once, because the service can serve without it. A start that fails is
 * logged and tried again.
 */
export function startBackgroundProcess(
  log: Log,
  metrics: Metrics,
  nodeMetrics: NodeMetrics,
  calls: NodeCalls,
): KeptProcess {
  const background = new KeptProcess({
    name: 'background',
    args: ['--background'],
    stopMsMax: STOP_MS_MAX,
    log,
    metrics,
    answer: (call) => calls.answer(call),
  });
  nodeMetrics.include(background);
  calls.settings.include(background);
  background.start().catch((error: unknown) => {
    log.error({ err: error }, 'the background process could not start; it is tried again');
  });
  return background;
}
