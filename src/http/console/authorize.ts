// Authentication of the console API: the operator by the admin token, people by a session. What a visitor may
// do is checked for each request by `ConsoleRoutes`.

import { OPERATOR, type Visitor } from '../../access/access.ts';
import type { Accounts } from '../../access/accounts.ts';
import { type FailureKind, fail, isFailure, type Outcome } from '../../contract/failure.ts';
import { bearerToken } from '../bearer-token.ts';
import type { Exchange, Handler } from '../exchange.ts';
import { failureReply, jsonReply, NO_STORE, type Reply } from '../reply.ts';
import { isOwnOrigin } from './own-origin.ts';
import { sessionCookie } from './session-cookie.ts';

/**
 * Wraps work so that it only runs for a visitor. The handler replies with the work's refusal, or with the
 * reply that `reply` makes of its answer: by default 200 and the answer as JSON.
 */
export type Authorize = <Answer>(
  work: (exchange: Exchange, visitor: Visitor) => Promise<Outcome<Answer, FailureKind>>,
  reply?: (answer: Answer) => Reply,
) => Handler;

const READS = new Set(['GET', 'HEAD']);

/** Builds `Authorize`. `consoleUrl` is the base URL of the console, if one is configured. */
export function createAuthorize(
  accounts: Pick<Accounts, 'find' | 'isAdminToken'>,
  consoleUrl: string | undefined,
): Authorize {
  return (work, reply = (answer) => unstored(jsonReply(200, answer))) =>
    async (exchange) => {
      const visitor = await identify(accounts, consoleUrl, exchange);
      const { requestId } = exchange.notes;
      const outcome = isFailure(visitor)
        ? visitor
        : await work(exchange, { ...visitor, requestId });
      return isFailure(outcome) ? unstored(failureReply(outcome)) : reply(outcome);
    };
}

/** Returns the reply with headers that forbid caches to keep it, because it is for one person. */
export function unstored(reply: Reply): Reply {
  return { ...reply, headers: [...(reply.headers ?? []), ...NO_STORE] };
}

/**
 * Identifies the visitor. A token takes precedence over a session: a wrong token is refused even with a valid
 * session. With a session, a write must come from a page of this service: 403.
 */
async function identify(
  accounts: Pick<Accounts, 'find' | 'isAdminToken'>,
  consoleUrl: string | undefined,
  exchange: Exchange,
): Promise<Outcome<Visitor, 'adminUnauthorized' | 'signedOut' | 'originNotAllowed'>> {
  if (exchange.headers.has('authorization')) {
    const token = bearerToken(exchange);
    const isOperator = token !== undefined && accounts.isAdminToken(token);
    return isOperator ? OPERATOR : fail('adminUnauthorized');
  }
  const cookie = sessionCookie(exchange);
  if (cookie === undefined) return fail('signedOut');
  const isWrite = !READS.has(exchange.method);
  if (isWrite && !isOwnOrigin(exchange, consoleUrl)) return fail('originNotAllowed');
  const session = await accounts.find(cookie);
  return session === undefined ? fail('signedOut') : { session };
}
