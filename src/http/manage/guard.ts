// Guard of every management endpoint: authenticates the caller (401), then limits its rate (429). Faults of
// the body (413, 400) and the refusals of the operation come after these.

import { failUntil, isFailure } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { AuthenticateKey, Caller } from '../../operations/access/authenticate-key.ts';
import { limitManagement } from '../../operations/access/limit-management.ts';
import type { Engine } from '../../ports/engine.ts';
import type { CountedRequest } from '../../ports/rate-decision.ts';
import { bearerToken } from '../bearer-token.ts';
import type { Exchange, Handler } from '../exchange.ts';
import { failureReply, type HeaderPair, type Reply } from '../reply.ts';

export type GuardDependencies = {
  readonly keys: AuthenticateKey;
  readonly engine: Engine;
  /** Counter of this process, which counts while the engine is unavailable. */
  readonly alone: Pick<Engine, 'countRequest'>;
  readonly metrics: Metrics;
};

export type CallerHandler = (caller: Caller, exchange: Exchange) => Promise<Reply>;

/** Wraps an endpoint so that it only runs for an authenticated caller within the rate limit. */
export function createGuard(dependencies: GuardDependencies): (handler: CallerHandler) => Handler {
  const { keys, engine, alone, metrics } = dependencies;
  return (handler) => async (exchange) => {
    const { notes } = exchange;
    const caller = await keys.authenticate(bearerToken(exchange), notes.requestId);
    if (isFailure(caller)) {
      notes.add(['WWW-Authenticate', 'Bearer']);
      return failureReply(caller);
    }
    const decision = await limitManagement(engine, alone, metrics, caller.keyId);
    notes.add(...limitHeaders(decision));
    if (!decision.isAllowed) return failureReply(failUntil('rateLimited', decision.waitMs));
    return handler(caller, exchange);
  };
}

/** Returns the headers that tell a caller how much of its limit is left. */
function limitHeaders({ remaining, leaveMs }: CountedRequest): readonly HeaderPair[] {
  return [
    ['RateLimit-Limit', String(LIMIT.managementRequestsPerMinute)],
    ['RateLimit-Remaining', String(remaining)],
    ['RateLimit-Reset', String(Math.ceil(leaveMs / 1000))],
  ];
}
