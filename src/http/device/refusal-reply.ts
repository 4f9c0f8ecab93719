// Replies of refusals to devices, which no cache may keep.

import { FAILURES, type Failure, type FailureKind } from '../../contract/failure.ts';
import { failureReply, NO_STORE, type Reply, replyHead } from '../transport/reply.ts';

/**
 * Cached replies of refusals without details, at most one per failure kind. They save writing one for every
 * check of a fleet that asks for an app or channel that does not exist; `refusalReply` adds them.
 */
const plainRefusals = new Map<FailureKind, Reply>();

/**
 * Returns the reply of a refusal, which no cache may keep either: an app that is unknown now may exist a
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
