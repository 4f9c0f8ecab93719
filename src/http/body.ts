// Collection of request bodies within bounds: each body has a limit and a deadline, and all bodies together
// have a budget.

import type { HttpResponse } from 'uWebSockets.js';
import { type Failure, fail, failUntil, type Outcome } from '../contract/failure.ts';
import { BODY_BUDGETS } from './body-budget.ts';

const HELD_RETRY_MS = 1000;

/** Kinds of refusal of a body: it is too large or too slow, or all bodies together are too large. */
export type BodyFailureKind = 'bodyTooLarge' | 'bodyTooSlow' | 'unavailable';

export type BodyLimit = {
  readonly bytesMax: number;
  /** Time for the whole body, from the head on, however steadily it arrives. */
  readonly msMax: number;
  readonly budget: keyof typeof BODY_BUDGETS;
};

/**
 * Collects a body within its limit; must be called before the handler returns. Resolves with 413 when the
 * body is larger, at once when its `declaredBytes` (Content-Length, NaN without one) say so; with 408 when it
 * is not complete in time; with 503 when all bodies of its budget together are too large; with an empty body
 * when the request is over before the body is complete.
 *
 * A refusal does not wait for the rest of the body, which uWebSockets.js reads and discards once the request
 * is answered. Closing the connection of a client that still writes would reset it, often before the client
 * has read the refusal.
 */
export function receiveBody(
  res: HttpResponse,
  { bytesMax, msMax, budget: budgetName }: BodyLimit,
  declaredBytes: number,
  onOver: (listener: () => void) => void,
): Promise<Outcome<Buffer, BodyFailureKind>> {
  const budget = BODY_BUDGETS[budgetName];
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let received = 0;
    let held = 0;
    let refusal: Failure<BodyFailureKind> | undefined;
    const finish = (outcome: Outcome<Buffer, BodyFailureKind>): void => {
      clearTimeout(deadline);
      budget.release(held);
      held = 0;
      chunks.length = 0;
      resolve(outcome);
    };
    const refuse = (failure: Failure<BodyFailureKind>): void => {
      refusal = failure;
      finish(failure);
    };
    const deadline = setTimeout(() => refuse(fail('bodyTooSlow')), msMax);
    onOver(() => finish(Buffer.alloc(0)));
    if (declaredBytes > bytesMax) refuse(fail('bodyTooLarge'));
    res.onData((chunk, isLast) => {
      if (refusal !== undefined) return;
      received += chunk.byteLength;
      if (received > bytesMax) {
        refuse(fail('bodyTooLarge'));
      } else if (!budget.hold(received, chunk.byteLength)) {
        refuse(failUntil('unavailable', HELD_RETRY_MS));
      } else {
        held += chunk.byteLength;
        // The memory of a chunk is valid during this call only.
        chunks.push(Buffer.copyBytesFrom(new Uint8Array(chunk)));
        if (isLast) finish(Buffer.concat(chunks));
      }
    });
  });
}
