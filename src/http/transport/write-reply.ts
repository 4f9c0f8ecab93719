// Writing of replies to a socket: in one piece where they are small, else as their client takes them.

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
/** Budget of this process. */
const budget = new TurnBudget();

/**
 * Writes a reply; `endsConnection` tells that it is the last of its connection. Must run corked: in the
 * handler itself, or inside `res.cork`. May replace the listener of `res.onAborted`.
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

/** Writes a reply and closes the connection: nothing else that arrived on it is read. Must run corked. */
export function writeReplyAndClose(res: HttpResponse, reply: Reply): void {
  if (res.guardsConnection) return write(res, reply, true, true, false);
  const { status, headers = NO_HEADERS, contentType = '', body = '' } = reply;
  // uWebSockets.js gathers what is shorter, and drops it when the connection is closed. Blanks are no matter.
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

/** Writes a reply when the turn is over, unless the connection is closed then. */
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

/** Writes a reply; one that is looked at closes its connection instead if the client does not read. */
function write(
  res: HttpResponse,
  reply: Reply,
  hasBody: boolean,
  endsConnection: boolean,
  isLookedAt: boolean,
): void {
  const { body = '' } = reply;
  if (isLookedAt && res.getBufferedAmount !== undefined && res.getBufferedAmount() > 0) {
    // Of answers to earlier requests: a client that waits for each before it asks again has read them.
    res.close();
  } else if (!hasBody) {
    writeWithoutBody(res, reply, endsConnection);
  } else if (isLookedAt || body.length > LARGE_BODY_BYTES) {
    writeHead(res, reply, endsConnection);
    // After a last reply the client closes the connection, as the header tells it to.
    if (endsConnection) res.writeHeader('Connection', 'close');
    writeLargeBody(res, typeof body === 'string' ? Buffer.from(body) : body);
  } else {
    // uWebSockets.js may lose a body when it has to write what it gathered and the socket takes nothing. It
    // ends the process then, unless a handler waits for the end of the connection.
    if (budget.isExceeded) res.onAborted(ignoreAbort);
    writeHead(res, reply, endsConnection);
    res.end(body, endsConnection);
  }
}

function ignoreAbort(): void {
  // The connection is closed with its next request, or in 10 s.
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
 * Writes a reply that has no body. uWebSockets.js gets no arguments: given a length, or only `undefined` in
 * its place, it waits for bytes that never come. After a last reply the client closes the connection, as
 * the header tells it to.
 */
function writeWithoutBody(res: HttpResponse, reply: Reply, endsConnection: boolean): void {
  writeHead(res, reply, endsConnection);
  if (endsConnection) res.writeHeader('Connection', 'close');
  writeLength(res, reply);
  res.endWithoutBody();
}

/** 204 and 304 have no Content-Length (RFC 9110), a reply to HEAD has that of the GET. */
function writeLength(res: HttpResponse, { status, body = '' }: Reply): void {
  if (!isBodiless(status)) res.writeHeader('Content-Length', String(Buffer.byteLength(body)));
}

/** Returns whether a reply of this status never has a body. */
function isBodiless(status: number): boolean {
  return status === 204 || status === 304;
}

/** Heads without headers by status, added by `statusHead`. They save building one for every reply. */
const STATUS_HEADS = new Map<number, ReplyHead>();

function statusHead(status: number): ReplyHead {
  let head = STATUS_HEADS.get(status);
  if (head === undefined) {
    head = replyHead(status, NO_HEADERS);
    STATUS_HEADS.set(status, head);
  }
  return head;
}
