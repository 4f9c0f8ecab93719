// The metrics of several processes as those of one service.

import { AggregatorRegistry, type Registry } from 'prom-client';

/** What one process's registry has, as it travels between processes. */
export type ProcessFigures = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/**
 * Adds the figures of several processes up, in Prometheus text: sums, but for the few default metrics of
 * which a sum would mean nothing (the mean of lags; the start times of processes are left out).
 */
export function sumFigures(processes: readonly ProcessFigures[]): Promise<string> {
  return AggregatorRegistry.aggregate([...processes]).metrics();
}
