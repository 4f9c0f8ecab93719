// Aggregation of the metrics of several processes into those of one service.

import { AggregatorRegistry, type Registry } from 'prom-client';

/** Metrics of one process in the form in which they are sent between processes. */
export type ProcessMetrics = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/**
 * Adds up the metrics of several processes and returns Prometheus text. The few default metrics whose sum
 * would be meaningless are treated differently: event-loop lags are averaged, process start times are left
 * out.
 */
export function sumMetrics(processes: readonly ProcessMetrics[]): Promise<string> {
  return AggregatorRegistry.aggregate([...processes]).metrics();
}
