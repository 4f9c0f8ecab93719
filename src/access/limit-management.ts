// The management rate limit: 300 requests a minute per key, counted in the engine over all nodes. When the
// engine does not answer, this node counts alone: the limit protects the service, and a lost engine must
// neither lock publishers out nor lift the limit.

import { LIMIT } from '../contract/limit.ts';
import { Unavailable } from '../contract/unavailable.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Engine } from '../store/engine.ts';
import type { CountedRequest } from '../store/rate-decision.ts';

type Counter = Pick<Engine, 'countRequest'>;

/**
 * Counts a request of a key and returns whether it is within the limit. `alone` counts without the other
 * nodes.
 */
export async function limitManagement(
  engine: Counter,
  alone: Counter,
  metrics: Metrics,
  keyId: string,
): Promise<CountedRequest> {
  const count = (counter: Counter): Promise<CountedRequest> =>
    counter.countRequest(`key:${keyId}`, LIMIT.managementRequestsPerMinute, LIMIT.rateWindowMs);
  return count(engine).catch((error: unknown) => {
    if (!(error instanceof Unavailable)) throw error;
    metrics.faults.add('rate');
    return count(alone);
  });
}
