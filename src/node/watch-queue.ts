// Figures of check-ins that wait, in the queue of a node or in the journal of an edge.

import type { Metrics } from '../observe/metrics.ts';

type Waiting = {
  readonly entries: () => number;
  readonly bytes: () => number;
  readonly ageMs: () => number;
};

/** Registers the figures, which are read when they are asked for. */
export function watchQueue(metrics: Metrics, { entries, bytes, ageMs }: Waiting): void {
  metrics.gauge(
    'sluice_check_in_queue_entries',
    'Batches of check-ins that wait to be recorded',
    entries,
  );
  metrics.gauge(
    'sluice_check_in_queue_bytes',
    'Bytes of the check-ins that wait to be recorded',
    bytes,
  );
  metrics.gauge(
    'sluice_check_in_queue_seconds',
    'Age of the oldest check-in that was taken and is not recorded',
    () => Math.round(ageMs() / 100) / 10,
  );
}
