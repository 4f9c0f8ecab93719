// Who may use the console API: whoever holds the admin token, and people with a session. What they may do
// there is asked for each request by `ConsoleRoutes`. What a route's work comes to is the answer.

import { fail, isFailure, type Outcome } from '../../contract/failure.ts';
import { OPERATOR, type Visitor, visitorOf } from '../../operations/access.ts';
import type { Accounts } from '../../operations/accounts.ts';
import { bearerToken } from '../bearer-token.ts';
import type { EventSource } from '../event-stream.ts';
import type { Exchange, Handler } from '../exchange.ts';
import { failureReply, jsonReply, NO_STORE, type Reply } from '../reply.ts';
import { isOwnOrigin } from './own-origin.ts';
import { sessionCookie } from './session-cookie.ts';

type Work = (exchange: Exchange, visitor: Visitor) => Promise<Outcome<unknown>>;

/** Wraps work so that it only runs for a visitor; it answers with `status`, or with its refusal. */
export type Admit = (work: Work, status?: number) => Handler;

class Streaming {
  readonly source: EventSource;

  constructor(source: EventSource) {
    this.source = source;
  }
}

const READS = new Set(['GET', 'HEAD']);

/** Builds `Admit`. `publicUrl` is where people reach the service, if that was configured. */
export function createAdmit(
  accounts: Pick<Accounts, 'find' | 'isAdminToken'>,
  publicUrl: string | undefined,
): Admit {
  return (work, status = 200) =>
    async (exchange) => {
      const visitor = await identify(accounts, publicUrl, exchange);
      const outcome = isFailure(visitor) ? visitor : await work(exchange, visitor);
      if (isFailure(outcome)) return unstored(failureReply(outcome));
      if (outcome instanceof Streaming) return { status: 200, events: outcome.source };
      return unstored(jsonReply(status, outcome));
    };
}

/** Marks a result as a stream of events instead of a JSON document. */
export function streaming(source: EventSource): unknown {
  return new Streaming(source);
}

/** The reply, for no cache to keep: what it says is one person's. */
export function unstored(reply: Reply): Reply {
  return { ...reply, headers: [...(reply.headers ?? []), ...NO_STORE] };
}

/**
 * A token goes before a session, and a wrong one is not made good by it. With a session, a write must come
 * from a page of this service: 403.
 */
async function identify(
  accounts: Pick<Accounts, 'find' | 'isAdminToken'>,
  publicUrl: string | undefined,
  exchange: Exchange,
): Promise<Outcome<Visitor>> {
  if (exchange.headers.has('authorization')) {
    const token = bearerToken(exchange);
    const isOperator = token !== undefined && accounts.isAdminToken(token);
    return isOperator ? OPERATOR : fail('adminUnauthorized');
  }
  const cookie = sessionCookie(exchange);
  if (cookie === undefined) return fail('signedOut');
  const isWrite = !READS.has(exchange.method);
  if (isWrite && !isOwnOrigin(exchange, publicUrl)) return fail('originNotAllowed');
  const session = await accounts.find(cookie);
  return session === undefined ? fail('signedOut') : visitorOf(session);
}
