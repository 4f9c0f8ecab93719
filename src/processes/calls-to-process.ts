// Calls between a process of the service and the process that started it.

import type { ProcessMetrics } from '../observe/sum-metrics.ts';

/**
 * Calls to a process: `metrics` is answered with its metrics; `close` makes it stop accepting connections,
 * and is answered without a value once it has stopped; `ping` is answered without a value at once, unless the
 * process hangs.
 */
export type CallsToProcess = {
  readonly call: 'metrics' | 'close' | 'ping';
  readonly answer: ProcessMetrics | undefined;
};

/**
 * Calls to the process that started the others: `sum` reads the sum of the metrics of all processes, as text;
 * undefined when they could not be added up.
 */
export type CallsToSupervisor = { readonly call: 'sum'; readonly answer: string | undefined };
