// Metrics of several processes in one text. Each process keeps its own series with the label `process`,
// because a sum or mean hides a single process: a mean of event-loop lags is low while one of eight hangs.

import { AggregatorRegistry, type Registry } from 'prom-client';

/** Metrics of one process in the form in which processes exchange them. */
export type ProcessMetrics = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** Returns the metrics of processes with different labels as one Prometheus text. */
export function joinMetrics(processes: readonly ProcessMetrics[]): Promise<string> {
  // No two series have the same labels, so nothing is added up; other aggregators would drop metrics.
  const all = processes.map((metrics) =>
    metrics.map((metric) => ({ ...metric, aggregator: 'sum' as const })),
  );
  return AggregatorRegistry.aggregate(all).metrics();
}
