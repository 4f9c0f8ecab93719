// Answers as values, and the one place that writes them to a socket.

import type { HttpResponse } from 'uWebSockets.js';
import { STATUS_CODES } from 'node:http';
import type { Failure } from '../contract/failure.ts';
import type { EventSource } from './event-stream.ts';

export type HeaderPair = readonly [name: string, value: string];

export type Reply = {
  readonly status: number;
  readonly contentType?: string;
  readonly headers?: readonly HeaderPair[];
  readonly body?: string | Buffer;
  /** Instead of a body: an answer that goes on. */
  readonly events?: EventSource;
};

const NO_HEADERS: NonNullable<Reply['headers']> = [];
const JSON_TYPE = 'application/json';

/** Answers that never have a body. */
function isBodiless(status: number): boolean {
  return status === 204 || status === 304;
}

/** A JSON answer. */
export function jsonReply(status: number, value: unknown): Reply {
  return { status, contentType: JSON_TYPE, body: JSON.stringify(value) };
}

/** For an answer that depends on who asks and when: no cache may keep it. */
export const NO_STORE = [['Cache-Control', 'no-store']] as const;

/**
 * The same headers in one piece, which costs one call into uWebSockets.js: it writes a value as it stands,
 * line breaks and all. Only for headers that are the same in every answer.
 */
export function headerBlock(headers: NonNullable<Reply['headers']>): readonly [HeaderPair] {
  const [[name, value], ...others] = headers as readonly [HeaderPair, ...HeaderPair[]];
  return [[name, [value, ...others.map((pair) => pair.join(': '))].join('\r\n')]];
}

/** The Error body of a refusal, with `Retry-After` where it has one. */
export function failureReply(failure: Failure): Reply {
  const reply = jsonReply(failure.status, { error: failure.message });
  const headers: [string, string][] =
    failure.retryAfterSeconds === undefined
      ? []
      : [['Retry-After', String(failure.retryAfterSeconds)]];
  return { ...reply, headers };
}

/**
 * Writes a reply, which may be the last of its connection. Must run corked: in the handler itself, or
 * inside `res.cork`.
 */
export function writeReply(
  res: HttpResponse,
  reply: Reply,
  isHead: boolean,
  endsConnection: boolean,
): void {
  // 200 is what uWebSockets.js says by itself.
  if (reply.status !== 200) res.writeStatus(statusLine(reply.status));
  const headers = reply.headers ?? NO_HEADERS;
  for (let index = 0; index < headers.length; index++) {
    const header = headers[index] as HeaderPair;
    res.writeHeader(header[0], header[1]);
  }
  if (reply.contentType !== undefined) res.writeHeader('Content-Type', reply.contentType);
  if (isHead || isBodiless(reply.status)) endWithoutBody(res, reply, endsConnection);
  else res.end(reply.body ?? '', endsConnection);
}

/**
 * Without arguments of its own: given a length, or only `undefined` in its place, uWebSockets.js waits for
 * bytes that never come. 204 and 304 have no Content-Length (RFC 9110), a HEAD has that of its GET. The
 * client closes the connection of a last answer, as the header tells it to.
 */
function endWithoutBody(res: HttpResponse, reply: Reply, endsConnection: boolean): void {
  if (endsConnection) res.writeHeader('Connection', 'close');
  if (!isBodiless(reply.status)) {
    res.writeHeader('Content-Length', String(Buffer.byteLength(reply.body ?? '')));
  }
  res.endWithoutBody();
}

const STATUS_LINES = new Map<number, string>();

/** `404 Not Found`: uWebSockets.js wants code and reason in one. */
export function statusLine(status: number): string {
  let line = STATUS_LINES.get(status);
  if (line === undefined) {
    line = `${status} ${STATUS_CODES[status] ?? 'Unknown'}`;
    STATUS_LINES.set(status, line);
  }
  return line;
}
