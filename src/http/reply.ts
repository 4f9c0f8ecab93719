// Replies as values, and the function that writes them to a socket.

import type { HttpResponse } from 'uWebSockets.js';
import { STATUS_CODES } from 'node:http';
import type { Failure } from '../contract/failure.ts';
import type { EventSource } from './event-stream.ts';
import { FAILURE_STATUS } from './failure-status.ts';
import { LARGE_BODY_BYTES, writeLargeBody } from './large-body.ts';

export type HeaderPair = readonly [name: string, value: string];

/** Status and headers as text: for a reply after which the connection is kept, and for its last one. */
type ReplyHead = { readonly kept: string; readonly last: string };

export type Reply = {
  readonly status: number;
  /** Head that was built in advance for the status; `headers` and `contentType` come after it. */
  readonly head?: ReplyHead;
  readonly contentType?: string;
  readonly headers?: readonly HeaderPair[];
  readonly body?: string | Buffer;
  /** Source of server-sent events, which are sent instead of a body. */
  readonly events?: EventSource;
};

const NO_HEADERS: NonNullable<Reply['headers']> = [];
const JSON_TYPE = 'application/json';

/** Returns whether a reply of this status never has a body. */
function isBodiless(status: number): boolean {
  return status === 204 || status === 304;
}

/** Builds a reply with a JSON body. */
export function jsonReply(status: number, value: unknown): Reply {
  return { status, contentType: JSON_TYPE, body: JSON.stringify(value) };
}

/** Headers of a reply that depends on the caller and the time: no cache may keep it. */
export const NO_STORE = [['Cache-Control', 'no-store']] as const;

/**
 * Builds the head of replies that always have this status and these headers. Writing it costs one call of
 * uWebSockets.js, which writes the text of a status as it is, including line breaks.
 */
export function replyHead(status: number, headers: NonNullable<Reply['headers']>): ReplyHead {
  const lines = headers.map((pair) => pair.join(': '));
  const text = statusText(status);
  return { kept: [text, KEEP_ALIVE, ...lines].join('\r\n'), last: [text, ...lines].join('\r\n') };
}

/** Builds the reply of a refusal: its status, the Error body, and `Retry-After` where the refusal has one. */
export function failureReply(failure: Failure): Reply {
  const reply = jsonReply(FAILURE_STATUS[failure.failure], { error: failure.message });
  const headers: [string, string][] =
    failure.retryAfterSeconds === undefined
      ? []
      : [['Retry-After', String(failure.retryAfterSeconds)]];
  return { ...reply, headers };
}

/**
 * Writes a reply; `endsConnection` tells that it is the last of its connection. Must run corked: in the
 * handler itself, or inside `res.cork`.
 */
export function writeReply(
  res: HttpResponse,
  reply: Reply,
  isHead: boolean,
  endsConnection: boolean,
): void {
  writeHead(res, reply, endsConnection);
  if (isHead || isBodiless(reply.status)) endWithoutBody(res, reply, endsConnection);
  else res.end(reply.body ?? '', endsConnection);
}

/**
 * Writes a reply like `writeReply`, to a client of whom the caller knows when it leaves: a large body is
 * written piece by piece. Returns a function to be called then.
 */
export function writeReplyInPieces(
  res: HttpResponse,
  reply: Reply,
  isHead: boolean,
  endsConnection: boolean,
): (() => void) | undefined {
  const { body } = reply;
  if (isHead || !Buffer.isBuffer(body) || body.length <= LARGE_BODY_BYTES) {
    writeReply(res, reply, isHead, endsConnection);
    return undefined;
  }
  writeHead(res, reply, endsConnection);
  // After a last reply the client closes the connection, as the header tells it to.
  if (endsConnection) res.writeHeader('Connection', 'close');
  return writeLargeBody(res, body);
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
 * Ends a reply that has no body. uWebSockets.js gets no arguments: given a length, or only `undefined` in its
 * place, it waits for bytes that never come. 204 and 304 have no Content-Length (RFC 9110), a reply to HEAD
 * has that of the GET. After a last reply the client closes the connection, as the header tells it to.
 */
function endWithoutBody(res: HttpResponse, reply: Reply, endsConnection: boolean): void {
  if (endsConnection) res.writeHeader('Connection', 'close');
  if (!isBodiless(reply.status)) {
    res.writeHeader('Content-Length', String(Buffer.byteLength(reply.body ?? '')));
  }
  res.endWithoutBody();
}

/** Header that says how long an idle connection is kept: uWebSockets.js closes it after 8 to 12 seconds. */
const KEEP_ALIVE = 'Keep-Alive: timeout=8';

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

/** Returns the status with its reason, `404 Not Found`, which uWebSockets.js expects in one text. */
function statusText(status: number): string {
  return `${status} ${STATUS_CODES[status] ?? 'Unknown'}`;
}
