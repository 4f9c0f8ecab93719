// Guard of every management endpoint: authenticates the caller (401), limits its rate (429), and checks the
// right that a call needs (403). Wrong bodies (413, 400) and unknown resources (404) come before the right.

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type AuthenticateKey, type Caller, limitManagement } from '../../access/api-keys.ts';
import { failUntil, isFailure, type Outcome, refuseRight } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { KeyRight } from '../../contract/resource.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { CountedRequest, Engine } from '../../store/engine.ts';
import type { RepeatableCall } from '../../store/ledger-terms.ts';
import { clientAddress } from '../transport/client-address.ts';
import { bearerToken, type Exchange, type Handler } from '../transport/exchange.ts';
import { failureReply, type HeaderPair, type Reply } from '../transport/reply.ts';
import { textField } from './field.ts';
import { parseShape } from './parse-shape.ts';

export type GuardDependencies = {
  readonly keys: AuthenticateKey;
  readonly engine: Engine;
  /** Counter of this process alone, used while the engine is unavailable. */
  readonly alone: Pick<Engine, 'countRequest'>;
  readonly metrics: Metrics;
  /** Number of proxies whose entries in `X-Forwarded-For` are trusted. */
  readonly trustProxy: number;
};

type CallerHandler = (caller: Caller, exchange: Exchange) => Promise<Reply>;

/** Right that a call needs, or a function that returns several, of which one suffices. */
type Needs = KeyRight | ((exchange: Exchange) => readonly KeyRight[]);

type Guard = (needs: Needs, handler: CallerHandler) => Handler;

const READS = new Set(['GET', 'HEAD']);

/**
 * Builds the guard. A handler runs only for an authenticated caller within the rate limit. A lacking right
 * must be refused only after an unknown resource (§25.3): so a read, which changes nothing, runs first; a
 * write gets the lacking right in `actor.lacks`, and its transaction refuses it.
 */
export function createGuard(dependencies: GuardDependencies): Guard {
  const { keys, engine, alone, metrics, trustProxy } = dependencies;
  return (needs, handler) => async (exchange) => {
    const { notes, remoteAddress, headers } = exchange;
    const forwarded = headers.get('x-forwarded-for') ?? '';
    const address = clientAddress(remoteAddress, forwarded, trustProxy);
    const caller = await keys.authenticate(bearerToken(exchange), address, notes.requestId);
    if (isFailure(caller)) {
      notes.add(['WWW-Authenticate', 'Bearer']);
      return failureReply(caller);
    }
    const decision = await limitManagement(engine, alone, metrics, caller.keyId);
    notes.add(...limitHeaders(decision));
    if (!decision.isAllowed) return failureReply(failUntil('rateLimited', decision.waitMs));
    const lacks = lackOf(caller, needs, exchange);
    const reply = await handler({ ...caller, actor: { ...caller.actor, lacks } }, exchange);
    const refusal = READS.has(exchange.method) ? refuseRight(lacks) : undefined;
    return refusal === undefined || reply.status >= 400 ? reply : failureReply(refusal);
  };
}

/** Returns the right that the caller's key lacks for the call; undefined if it has one that suffices. */
function lackOf({ may }: Caller, needs: Needs, exchange: Exchange): KeyRight | undefined {
  const sufficient = typeof needs === 'string' ? [needs] : needs(exchange);
  return sufficient.some((right) => may.includes(right)) ? undefined : sufficient[0];
}

/** Returns the headers with the caller's rate limit, and how much of it is left. */
function limitHeaders({ remaining, leaveMs }: CountedRequest): readonly HeaderPair[] {
  return [
    ['RateLimit-Limit', String(LIMIT.managementRequestsPerMinute)],
    ['RateLimit-Remaining', String(remaining)],
    ['RateLimit-Reset', String(Math.ceil(leaveMs / 1000))],
  ];
}

// Idempotency keys of management calls: a call that has one can be repeated safely.

const HEADER = 'Idempotency-Key';

const headersShape = z.object({ [HEADER]: textField(LIMIT.idempotencyKeyLengthMax) });

/** Reads the idempotency key of a call, with the call's hash; undefined without one, 400 for a wrong one. */
export async function readRepeatableCall(
  { keyId }: Caller,
  { method, path, headers, body }: Exchange,
): Promise<Outcome<RepeatableCall | undefined>> {
  const given = headers.get(HEADER.toLowerCase());
  if (given === undefined) return undefined;
  const read = parseShape(headersShape, { [HEADER]: given });
  if (isFailure(read)) return read;
  const bytes = await body;
  if (isFailure(bytes)) return bytes;
  const request = createHash('sha256').update(`${method} ${path}\n`).update(bytes).digest('hex');
  return { keyId, idempotencyKey: read[HEADER], request };
}
