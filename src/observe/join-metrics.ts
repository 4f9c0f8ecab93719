// Metrics of several processes as those of one service. Each process keeps its own series, told apart by the
// label `process`, because sums and means hide what one process does: a mean of event-loop lags is low while
// one of eight workers hangs.

import { AggregatorRegistry, type Registry } from 'prom-client';

/** Metrics of one process in the form in which they are sent between processes. */
export type ProcessMetrics = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** Returns the metrics of processes that have different labels as one Prometheus text. */
export function joinMetrics(processes: readonly ProcessMetrics[]): Promise<string> {
  // No two series have the same labels, so nothing is added up; other aggregators would leave metrics out.
  const all = processes.map((metrics) =>
    metrics.map((metric) => ({ ...metric, aggregator: 'sum' as const })),
  );
  return AggregatorRegistry.aggregate(all).metrics();
}
