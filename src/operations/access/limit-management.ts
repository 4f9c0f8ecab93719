// The management rate limit: 300 requests a minute per key, counted in the engine over all nodes. When the
// engine does not answer, this node counts alone: the limit protects the service, and a lost engine must
// neither lock publishers out nor lift the limit.

import { type Failure, failUntil } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { Engine } from '../../ports/engine.ts';
import type { RateDecision } from '../../ports/rate-decision.ts';
import { Unavailable } from '../../ports/unavailable.ts';

type Counter = Pick<Engine, 'countRequest'>;

/**
 * Counts a request of a key and returns the refusal above the limit. `alone` counts without the other nodes.
 */
export async function limitManagement(
  engine: Counter,
  alone: Counter,
  metrics: Metrics,
  keyId: string,
): Promise<Failure<'rateLimited'> | undefined> {
  const count = (counter: Counter): Promise<RateDecision> =>
    counter.countRequest(`key:${keyId}`, LIMIT.managementRequestsPerMinute, LIMIT.rateWindowMs);
  const decision = await count(engine).catch((error: unknown) => {
    if (!(error instanceof Unavailable)) throw error;
    metrics.faults.add('rate');
    return count(alone);
  });
  return decision.isAllowed ? undefined : failUntil('rateLimited', decision.waitMs);
}
