// Replies as values.

import { STATUS_CODES } from 'node:http';
import type { Failure } from '../contract/failure.ts';
import type { EventSource } from './event-stream.ts';
import { FAILURE_STATUS } from './failure-status.ts';

export type HeaderPair = readonly [name: string, value: string];

/** Status and headers as text: for a reply after which the connection is kept, and for its last one. */
export type ReplyHead = { readonly kept: string; readonly last: string };

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

const JSON_TYPE = 'application/json';

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

/** Header that says how long an idle connection is kept: uWebSockets.js closes it after 8 to 12 seconds. */
const KEEP_ALIVE = 'Keep-Alive: timeout=8';

/** Returns the status with its reason, `404 Not Found`, which uWebSockets.js expects in one text. */
function statusText(status: number): string {
  return `${status} ${STATUS_CODES[status] ?? 'Unknown'}`;
}
