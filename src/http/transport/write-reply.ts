// Writes replies to a socket: small ones in one piece, others at the pace of their client.

import type { HttpResponse } from './http-app.ts';
import {
  type HeaderPair,
  LARGE_BODY_BYTES,
  type Reply,
  type ReplyHead,
  replyHead,
  writeLargeBody,
} from './reply.ts';
import { GATHERED_BYTES, TurnBudget } from './turn-budget.ts';

const NO_HEADERS: NonNullable<Reply['headers']> = [];
const LINE_BREAK = '\r\n';
/** Budget of the answers that this process writes. */
const budget = new TurnBudget();

/**
 * Writes a reply; `endsConnection`: whether it is the last of its connection. Must run corked: in the handler
 * itself, or inside `res.cork`. May replace the listener of `res.onAborted`.
 */
export function writeReply(
  res: HttpResponse,
  reply: Reply,
  isHead: boolean,
  endsConnection: boolean,
): void {
  const bodyBytes = isHead || isBodiless(reply.status) ? 0 : (reply.body?.length ?? 0);
  const isLookedAt = budget.isLookedAt(bodyBytes);
  if (isLookedAt && budget.isTurnUsedUp) writeNextTurn(res, reply, bodyBytes > 0, endsConnection);
  else write(res, reply, bodyBytes > 0, endsConnection, isLookedAt);
}

/** Writes a reply and closes the connection, so that no further request on it is read. Must run corked. */
export function writeReplyAndClose(res: HttpResponse, reply: Reply): void {
  if (res.guardsConnection) return write(res, reply, true, true, false);
  const { status, headers = NO_HEADERS, contentType = '', body = '' } = reply;
  // uWebSockets.js gathers less than 16 KiB, and drops it when the connection is closed. So blanks, which do
  // no harm, fill the body up.
  const text = body.toString().padEnd(GATHERED_BYTES);
  const head = replyHead(status, [
    ...headers,
    ['Content-Type', contentType],
    ['Content-Length', String(Buffer.byteLength(text) + LINE_BREAK.length)],
    ['Date', new Date().toUTCString()],
    ['Connection', 'close'],
  ]);
  // uWebSockets.js adds a line break.
  res.writeStatus(head.last + LINE_BREAK + LINE_BREAK + text);
  res.close();
}

/** Writes a reply after the current turn of the event loop, unless the connection is closed by then. */
function writeNextTurn(
  res: HttpResponse,
  reply: Reply,
  hasBody: boolean,
  endsConnection: boolean,
): void {
  let isOpen = true;
  res.onAborted(() => {
    isOpen = false;
  });
  setImmediate(() => {
    if (isOpen) res.cork(() => write(res, reply, hasBody, endsConnection, true));
  });
}

/** Writes a reply. If it is looked at and the client does not read, closes the connection instead. */
function write(
  res: HttpResponse,
  reply: Reply,
  hasBody: boolean,
  endsConnection: boolean,
  isLookedAt: boolean,
): void {
  const { body = '' } = reply;
  if (isLookedAt && res.getBufferedAmount !== undefined && res.getBufferedAmount() > 0) {
    // The bytes are of earlier answers. A client that waits for each answer before it asks again has none.
    res.close();
  } else if (!hasBody) {
    writeWithoutBody(res, reply, endsConnection);
  } else if (isLookedAt || body.length > LARGE_BODY_BYTES) {
    writeHead(res, reply, endsConnection);
    // The header asks the client to close the connection after a last reply.
    if (endsConnection) res.writeHeader('Connection', 'close');
    writeLargeBody(res, typeof body === 'string' ? Buffer.from(body) : body);
  } else {
    // uWebSockets.js may lose a body if it has to write what it gathered and the socket accepts nothing. Then
    // it ends the process, unless the response has a listener of `onAborted`.
    if (budget.isExceeded) res.onAborted(ignoreAbort);
    writeHead(res, reply, endsConnection);
    res.end(body, endsConnection);
  }
}

function ignoreAbort(): void {
  // Nothing to do: the connection is closed by its next request, or after 10 s.
}

function writeHead(
  res: HttpResponse,
  { status, head = statusHead(status), headers = NO_HEADERS, contentType }: Reply,
  endsConnection: boolean,
): void {
  res.writeStatus(endsConnection ? head.last : head.kept);
  for (let index = 0; index < headers.length; index++) {
    const header = headers[index] as HeaderPair;
    res.writeHeader(header[0], header[1]);
  }
  if (contentType !== undefined) res.writeHeader('Content-Type', contentType);
}

/**
 * Writes a reply that has no body. `endWithoutBody` gets no arguments: with a length, or even `undefined` in
 * its place, uWebSockets.js waits for bytes that never come. The header asks the client to close the
 * connection after a last reply.
 */
function writeWithoutBody(res: HttpResponse, reply: Reply, endsConnection: boolean): void {
  writeHead(res, reply, endsConnection);
  if (endsConnection) res.writeHeader('Connection', 'close');
  writeLength(res, reply);
  res.endWithoutBody();
}

/** Writes `Content-Length`, except for 204 and 304 (RFC 9110); a reply to HEAD has that of GET. */
function writeLength(res: HttpResponse, { status, body = '' }: Reply): void {
  if (!isBodiless(status)) res.writeHeader('Content-Length', String(Buffer.byteLength(body)));
}

/** Returns whether a reply of this status never has a body. */
function isBodiless(status: number): boolean {
  return status === 204 || status === 304;
}

/** Heads without headers by status, so that `statusHead` need not build one for every reply. */
const STATUS_HEADS = new Map<number, ReplyHead>();

function statusHead(status: number): ReplyHead {
  let head = STATUS_HEADS.get(status);
  if (head === undefined) {
    head = replyHead(status, NO_HEADERS);
    STATUS_HEADS.set(status, head);
  }
  return head;
}
