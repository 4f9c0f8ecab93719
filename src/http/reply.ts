// Answers as values, and the one place that writes them to a socket.

import type { HttpResponse } from 'uWebSockets.js';
import { STATUS_CODES } from 'node:http';
import type { Failure } from '../contract/failure.ts';
import type { EventSource } from './event-stream.ts';

export type Reply = {
  readonly status: number;
  readonly contentType?: string;
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: string | Buffer;
  /** Instead of a body: an answer that goes on. */
  readonly events?: EventSource;
};

const NO_HEADERS: NonNullable<Reply['headers']> = [];
const JSON_TYPE = 'application/json';

/** Answers that never have a body. */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);

/** A JSON answer. */
export function jsonReply(status: number, value: unknown): Reply {
  return { status, contentType: JSON_TYPE, body: JSON.stringify(value) };
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
    const header = headers[index] as readonly [string, string];
    res.writeHeader(header[0], header[1]);
  }
  if (reply.contentType !== undefined) res.writeHeader('Content-Type', reply.contentType);
  if (isHead || BODILESS.has(reply.status)) endWithoutBody(res, reply, endsConnection);
  else res.end(reply.body ?? '', endsConnection);
}

/**
 * Without arguments of its own: given a length, or only `undefined` in its place, uWebSockets.js waits for
 * bytes that never come. 204 and 304 have no Content-Length (RFC 9110), a HEAD has that of its GET. The
 * client closes the connection of a last answer, as the header tells it to.
 */
function endWithoutBody(res: HttpResponse, reply: Reply, endsConnection: boolean): void {
  if (endsConnection) res.writeHeader('Connection', 'close');
  if (!BODILESS.has(reply.status)) {
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
