// Replies to devices with refusals, which no cache may store.

import { FAILURES, type Failure, type FailureKind } from '../../contract/failure.ts';
import { failureReply, NO_STORE, type Reply, replyHead } from '../transport/reply.ts';

/**
 * Cached replies of refusals without details, at most one per failure kind, so that a fleet that asks for an
 * unknown app or channel does not cost a new reply for every check. `refusalReply` fills the cache.
 */
const plainRefusals = new Map<FailureKind, Reply>();

/**
 * Returns the reply of a refusal. No cache may store it, because an app that is unknown now may exist a
 * second later.
 */
export function refusalReply(refusal: Failure): Reply {
  const { failure, message, retryAfterSeconds } = refusal;
  if (retryAfterSeconds !== undefined || message !== FAILURES[failure]) {
    return writeRefusal(refusal);
  }
  let reply = plainRefusals.get(failure);
  if (reply === undefined) {
    reply = writeRefusal(refusal);
    plainRefusals.set(failure, reply);
  }
  return reply;
}

function writeRefusal(failure: Failure): Reply {
  const { status, headers = [], contentType = '', body = '' } = failureReply(failure);
  const head = replyHead(status, [...headers, ...NO_STORE, ['Content-Type', contentType]]);
  return { status, head, body: Buffer.from(body) };
}
