// Request bodies, collected within bounds: one body has a limit, and so have all of them together, because
// a body arrives before anybody knows who sends it.

import type { HttpResponse } from 'uWebSockets.js';
import { fail, failUntil, type Outcome } from '../contract/failure.ts';
import { LIMIT } from '../contract/limit.ts';

const HELD_BYTES_MAX = 256 * 1024 * 1024;
/** What of it bodies of unusual size may take, so that those who send them leave room for everybody else. */
const LARGE_HELD_BYTES_MAX = HELD_BYTES_MAX / 2;
const HELD_RETRY_MS = 1000;

let heldBytes = 0;

/**
 * Collects a body of at most `bytesMax`; must be called before the handler returns. Resolves with 413 when
 * it is larger, at once when its `declaredBytes` (Content-Length, NaN without one) say so, and with 503 when
 * all bodies together are; with an empty body when the request is over before.
 *
 * A refusal does not wait for the rest, which uWebSockets.js reads and throws away once there is an answer.
 * Closing on a client that still writes would reset the connection, often before it has seen why.
 */
export function receiveBody(
  res: HttpResponse,
  bytesMax: number,
  declaredBytes: number,
  onOver: (listener: () => void) => void,
): Promise<Outcome<Buffer>> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let received = 0;
    let held = 0;
    let refusal: ReturnType<typeof fail> | undefined;
    const settle = (outcome: Outcome<Buffer>): void => {
      heldBytes -= held;
      held = 0;
      chunks.length = 0;
      resolve(outcome);
    };
    onOver(() => settle(Buffer.alloc(0)));
    if (declaredBytes > bytesMax) {
      refusal = fail('bodyTooLarge');
      settle(refusal);
    }
    res.onData((chunk, isLast) => {
      received += chunk.byteLength;
      refusal ??= refuse(received, chunk.byteLength, bytesMax);
      if (refusal === undefined) {
        // The chunk's memory is only ours during this call.
        chunks.push(Buffer.copyBytesFrom(new Uint8Array(chunk)));
        held += chunk.byteLength;
        heldBytes += chunk.byteLength;
      }
      if (refusal !== undefined) settle(refusal);
      else if (isLast) settle(Buffer.concat(chunks));
    });
  });
}

function refuse(
  received: number,
  chunkBytes: number,
  bytesMax: number,
): ReturnType<typeof fail> | undefined {
  if (received > bytesMax) return fail('bodyTooLarge');
  const budget = received > LIMIT.bodyBytesMax ? LARGE_HELD_BYTES_MAX : HELD_BYTES_MAX;
  if (heldBytes + chunkBytes > budget) return failUntil('unavailable', HELD_RETRY_MS);
  return undefined;
}
