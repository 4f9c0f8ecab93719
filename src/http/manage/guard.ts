// Guard of every management endpoint: authenticates the caller (401), then limits its rate (429). Faults of
// the body (413, 400) and the refusals of the operation come after these.

import { isFailure } from '../../contract/failure.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { AuthenticateKey, Caller } from '../../operations/access/authenticate-key.ts';
import { limitManagement } from '../../operations/access/limit-management.ts';
import type { Engine } from '../../ports/engine.ts';
import { bearerToken } from '../bearer-token.ts';
import type { Exchange, Handler } from '../exchange.ts';
import { failureReply, type Reply } from '../reply.ts';

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
    const caller = await keys.authenticate(bearerToken(exchange));
    if (isFailure(caller)) return failureReply(caller);
    const refusal = await limitManagement(engine, alone, metrics, caller.keyId);
    if (refusal !== undefined) return failureReply(refusal);
    return handler(caller, exchange);
  };
}
