// Calls between a process of the service and the process that started it.

import type { ProcessMetrics } from '../observe/join-metrics.ts';
import type { StoreName } from '../observe/store-health.ts';

/**
 * Calls to a process: `metrics` is answered with its metrics, `readiness` with whether it can decide; `drain`
 * makes it not ready, and `close` makes it stop accepting connections, and both are answered without a value
 * once that is so; `ping` is answered without a value at once, unless the process hangs; news and settings
 * are answered without a value once they count.
 */
export type CallsToProcess = {
  readonly call: 'metrics' | 'readiness' | 'drain' | 'close' | 'ping' | News | Settings;
  readonly answer: ProcessMetrics | ProcessReadiness | undefined;
};

/**
 * Calls to the process that started the others: `sum` reads the sum of the metrics of all processes, as text,
 * undefined when they could not be added up; `readiness` reads whether any serving process can decide;
 * `settings` reads those that every process of the node uses now; news are passed on to the serving
 * processes, and are answered without a value once they count or a limit of time has passed.
 */
export type CallsToSupervisor = {
  readonly call: 'sum' | 'readiness' | 'settings' | News;
  readonly answer: string | ProcessReadiness | Settings | undefined;
};

/**
 * Readiness of serving processes: why they cannot decide, undefined when they can, and the stores that they
 * do without, since when, and what that means.
 */
export type ProcessReadiness = {
  readonly obstacle: string | undefined;
  readonly degraded: readonly {
    readonly store: StoreName;
    readonly since: string;
    readonly message: string;
  }[];
};

/** Settings that change while a node runs; what they mean is known to its processes. */
export type Settings = { readonly settings: unknown };

/** News that one process of the node tells the serving ones; what they mean is known to those processes. */
export type News = { readonly news: unknown };
