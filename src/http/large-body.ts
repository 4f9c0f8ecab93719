// Writing of bodies as their client takes them. uWebSockets.js copies what the socket does not take at
// once, without a bound, and answers the connection's next request all the same: a client that asks again
// and again and reads nothing would fill the memory. Copying also keeps the serving thread busy (2 ms a
// megabyte). So such a body is written piece by piece from the one buffer that all clients share. Until its
// end the request counts as unanswered, and uWebSockets.js closes a connection on which another one
// arrives. One whose socket takes nothing is closed at once.

import type { HttpResponse } from 'uWebSockets.js';

/** Size in bytes above which a body is written as the client takes it. */
export const LARGE_BODY_BYTES = 4096;
const PIECE_BYTES = 256 * 1024;

/** Writes a body after the head of its reply. Must run corked. */
export function writeLargeBody(res: HttpResponse, body: Buffer): void {
  const first = body.length > PIECE_BYTES ? body.subarray(0, PIECE_BYTES) : body;
  const [isTaken, isDone] = res.tryEnd(first, body.length);
  if (isDone) return;
  // A socket that takes nothing is full of answers to earlier requests.
  if (res.getWriteOffset() === 0) res.close();
  else writeRest(res, body, isTaken);
}

function writeRest(res: HttpResponse, body: Buffer, isFirstTaken: boolean): void {
  let isOpen = true;
  /** Writes the next piece; returns whether the socket took all of it. */
  const writePiece = (): boolean => {
    const offset = res.getWriteOffset();
    const piece = body.subarray(offset, offset + PIECE_BYTES);
    const [isTaken, isDone] = res.tryEnd(piece, body.length);
    if (isDone) isOpen = false;
    else if (isTaken) setImmediate(writeNext);
    return isTaken;
  };
  const writeNext = (): void => {
    if (isOpen) res.cork(writePiece);
  };
  res.onAborted(() => {
    isOpen = false;
  });
  res.onWritable(() => !isOpen || writePiece());
  if (isFirstTaken) setImmediate(writeNext);
}
