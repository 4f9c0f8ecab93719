// Collection of request bodies within bounds: each body has a limit, and so have all bodies together, because
// a body arrives before its sender is authenticated.

import type { HttpResponse } from 'uWebSockets.js';
import { type Failure, fail, failUntil, type Outcome } from '../contract/failure.ts';
import { LIMIT } from '../contract/limit.ts';

/** Maximum number of bytes that all bodies together may hold. */
const HELD_BYTES_MAX = 256 * 1024 * 1024;
/**
 * Number of held bytes at which bodies above `LIMIT.bodyBytesMax` are refused, so that their senders leave
 * room for all others.
 */
const LARGE_HELD_BYTES_MAX = HELD_BYTES_MAX / 2;
const HELD_RETRY_MS = 1000;

/** Kinds of refusal of a body: it is too large, or all bodies together are. */
export type BodyFailureKind = 'bodyTooLarge' | 'unavailable';

let heldBytes = 0;

/**
 * Collects a body of at most `bytesMax`; must be called before the handler returns. Resolves with 413 when
 * the body is larger, at once when its `declaredBytes` (Content-Length, NaN without one) say so; with 503
 * when all bodies together are too large; with an empty body when the request is over before the body is
 * complete.
 *
 * A refusal does not wait for the rest of the body, which uWebSockets.js reads and discards once the request
 * is answered. Closing the connection of a client that still writes would reset it, often before the client
 * has read the refusal.
 */
export function receiveBody(
  res: HttpResponse,
  bytesMax: number,
  declaredBytes: number,
  onOver: (listener: () => void) => void,
): Promise<Outcome<Buffer, BodyFailureKind>> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let received = 0;
    let held = 0;
    let refusal: Failure<BodyFailureKind> | undefined;
    const finish = (outcome: Outcome<Buffer, BodyFailureKind>): void => {
      heldBytes -= held;
      held = 0;
      chunks.length = 0;
      resolve(outcome);
    };
    onOver(() => finish(Buffer.alloc(0)));
    if (declaredBytes > bytesMax) {
      refusal = fail('bodyTooLarge');
      finish(refusal);
    }
    res.onData((chunk, isLast) => {
      received += chunk.byteLength;
      refusal ??= refuse(received, chunk.byteLength, bytesMax);
      if (refusal === undefined) {
        // The memory of a chunk is valid during this call only.
        chunks.push(Buffer.copyBytesFrom(new Uint8Array(chunk)));
        held += chunk.byteLength;
        heldBytes += chunk.byteLength;
      }
      if (refusal !== undefined) finish(refusal);
      else if (isLast) finish(Buffer.concat(chunks));
    });
  });
}

function refuse(
  received: number,
  chunkBytes: number,
  bytesMax: number,
): Failure<BodyFailureKind> | undefined {
  if (received > bytesMax) return fail('bodyTooLarge');
  const budget = received > LIMIT.bodyBytesMax ? LARGE_HELD_BYTES_MAX : HELD_BYTES_MAX;
  if (heldBytes + chunkBytes > budget) return failUntil('unavailable', HELD_RETRY_MS);
  return undefined;
}
