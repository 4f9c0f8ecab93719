// Writing of bodies of many megabytes. uWebSockets.js copies what the socket does not take at once, which
// would keep the serving thread busy for long (2 ms a megabyte) and give each slow client a copy of its own.
// So such a body is written piece by piece, as the socket takes it, from the one buffer that all clients
// share.

import type { HttpResponse } from 'uWebSockets.js';

/** Size in bytes above which a body is written piece by piece. */
export const LARGE_BODY_BYTES = 1024 * 1024;
const PIECE_BYTES = 256 * 1024;

/**
 * Writes a body after the head of its reply. Must run corked. Returns a function to be called when the client
 * has left: nothing may be written to it afterwards.
 */
export function writeLargeBody(res: HttpResponse, body: Buffer): () => void {
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
  res.onWritable(() => !isOpen || writePiece());
  writePiece();
  return () => {
    isOpen = false;
  };
}
