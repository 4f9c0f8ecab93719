// Requests and replies of all handlers that may wait. The head of the request is read before the handler
// returns, because uWebSockets.js invalidates it then. The reply is written once, corked, if the client is
// still connected.

import {
  type Failure,
  fail,
  failUntil,
  invalidField,
  type Outcome,
} from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { Unavailable } from '../../contract/store-fault.ts';
import { writeEventStream } from './event-stream.ts';
import type { HttpRequest, HttpResponse } from './http-app.ts';
import { FAILURE_STATUS, failureReply, type Reply, sendable, unstored } from './reply.ts';
import {
  RequestNotes,
  type RequestWatch,
  type RouteTraffic,
  type Traffic,
} from './request-observation.ts';
import { writeReply, writeReplyAndClose } from './write-reply.ts';

export type Exchange = {
  /** Method in upper case. */
  readonly method: string;
  /** Path as sent, still percent-encoded, without the query. */
  readonly path: string;
  /**
   * Query as sent, without `?`. Only handlers that need it parse it, because parsing a long query takes
   * milliseconds.
   */
  readonly queryText: string;
  /** Headers by lower-case name; values of a repeated header are joined by commas (RFC 9110, section 5.3). */
  readonly headers: ReadonlyMap<string, string>;
  /** IP address of the socket's peer: the client, or a proxy in front of the service. */
  readonly remoteAddress: string;
  /** Decoded `:name` segments of the route. */
  readonly params: ReadonlyMap<string, string>;
  /** Body of the request, or its refusal; an empty body for methods without one. */
  readonly body: Promise<Outcome<Buffer, BodyFailureKind>>;
  readonly notes: RequestNotes;
};

export type Handler = (exchange: Exchange) => Reply | Promise<Reply>;

const BODY_METHODS = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
const NO_BODY = Promise.resolve(Buffer.alloc(0));
const RETRY_MS = 1000;
/** Status after which the connection is closed, because the client may never finish its request. */
const TOO_SLOW = FAILURE_STATUS.bodyTooSlow;

/** Reads the request, runs the handler and writes its reply; an exception becomes a 5xx. */
export function runExchange(
  res: HttpResponse,
  req: HttpRequest,
  route: {
    readonly params: ReadonlyMap<string, string>;
    readonly handler: Handler;
    readonly body: BodyLimit;
    readonly replies: RouteTraffic;
  },
  traffic: Traffic,
): void {
  const method = req.getMethod().toUpperCase();
  const path = req.getUrl();
  const queryText = req.getQuery() ?? '';
  const headers = readHeaders(req);
  const remoteAddress = remoteAddressOf(res);
  const header = (name: string) => headers.get(name) ?? '';
  const { notes, watch } = route.replies.observe(
    { method, path, remoteAddress, header },
    route.params.get('app') ?? route.params.get('appRef'),
  );
  if (isBodyAmbiguous(headers)) {
    const reply = notes.addTo(AMBIGUOUS_BODY);
    route.replies.count(reply.status);
    watch?.end(reply.status);
    return writeReplyAndClose(res, reply);
  }
  answerLater(res, { method, path, replies: route.replies, notes, watch }, traffic, (onOver) => {
    const declaredBytes = Number(headers.get('content-length'));
    const body = BODY_METHODS.has(method)
      ? receiveBody(res, route.body, declaredBytes, onOver)
      : NO_BODY;
    const { params, handler } = route;
    return handler({ method, path, queryText, headers, remoteAddress, params, body, notes });
  });
}

/** Request that is not answered at once. */
export type AnsweredRequest = {
  readonly method: string;
  readonly path: string;
  readonly replies: RouteTraffic;
  /** Notes of the request; if absent, it gets an id only when it fails. */
  readonly notes?: RequestNotes;
  /** Watch of the request, if requests to its route are watched. */
  readonly watch?: RequestWatch | undefined;
};

/**
 * Answers with the reply of `work`, which begins at once. Must be called before the handler returns. `work`
 * may set a listener for the end of the request: the client has disconnected, or the reply is known.
 */
export function answerLater(
  res: HttpResponse,
  request: AnsweredRequest,
  traffic: Traffic,
  work: (onOver: (listener: () => void) => void) => Reply | Promise<Reply>,
): void {
  let isGone = false;
  let over: (() => void) | undefined;
  res.onAborted(() => {
    isGone = true;
    over?.();
  });
  const attempt = async (): Promise<Reply> => {
    try {
      const reply = await work((listener) => {
        over = listener;
      });
      return sendable(request.notes?.addTo(reply) ?? reply);
    } catch (error) {
      return faultReply(error, request, traffic);
    }
  };
  const beganAt = request.replies.begin();
  const { watch } = request;
  const answering = watch === undefined ? attempt() : watch.run(attempt);
  void answering.then((reply) => {
    // Some replies do not wait for the body (401, 429). The part of it that has arrived is released now,
    // because uWebSockets.js calls no listeners of a request that was answered.
    over?.();
    request.replies.end(isGone ? undefined : reply.status, beganAt, watch);
    if (isGone) return;
    res.cork(() => {
      const isHead = request.method === 'HEAD';
      if (reply.events !== undefined && !isHead)
        over = writeEventStream(res, reply.events, reply.headers);
      else {
        const isLast = traffic.endsConnection() || reply.status === TOO_SLOW;
        writeReply(res, reply, isHead, isLast);
      }
    });
  });
}

/**
 * Returns the 5xx for an exception: 503 for an unavailable store, 500 for a bug, both with the request's id,
 * which is in the log, and neither for caches. On routes `isForOperators`, the reply also names the store,
 * and why it is unavailable.
 */
export function faultReply(
  error: unknown,
  { method, path, replies, notes = new RequestNotes() }: AnsweredRequest,
  traffic: Traffic,
): Reply {
  const { requestId } = notes;
  notes.tellId();
  const { isForOperators } = replies;
  const details = { requestId, method, path: path.slice(0, 200) };
  if (!(error instanceof Unavailable)) {
    traffic.log.error({ err: error, ...details }, 'request failed');
    return notes.addTo(unstored(failureReply(fail('internal'))));
  }
  const { store, message: reason, detail } = error;
  traffic.rareLog.warnAbout(
    `${store} ${reason}`,
    { store, reason, detail, ...details },
    'store unavailable',
  );
  const told = failUntil('unavailable', RETRY_MS);
  // Publishers and operators can act on the reason; devices only retry.
  const message = isForOperators ? `${told.message}: ${reason}` : told.message;
  return notes.addTo(unstored(failureReply({ ...told, message })));
}

/** Reads all headers of a request; see `Exchange`. */
export function readHeaders(req: HttpRequest): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  req.forEach((name, value) => {
    const known = headers.get(name);
    headers.set(name, known === undefined ? value : `${known}, ${value}`);
  });
  return headers;
}

/** Returns the IP address of the socket's peer. */
export function remoteAddressOf(res: HttpResponse): string {
  return addressText(res.getRemoteAddressAsText());
}

/** Returns an IP address from an HTTP server, which may give it as bytes, as text. */
export function addressText(text: ReturnType<HttpResponse['getRemoteAddressAsText']>): string {
  return typeof text === 'string' ? text : Buffer.from(text).toString('latin1');
}

// Receives request bodies: each has a size limit and a deadline, and all together have memory budgets.

const HELD_RETRY_MS = 1000;

/** Kinds of refusal of a body: it is too large or too slow, or the budget of all bodies is used up. */
export type BodyFailureKind = 'bodyTooLarge' | 'bodyTooSlow' | 'unavailable';

export type BodyLimit = {
  readonly bytesMax: number;
  /** Time for the whole body from the end of the head, however steadily it arrives. */
  readonly msMax: number;
  readonly budget: keyof typeof BODY_BUDGETS;
};

/**
 * Receives a body within its limit; must be called before the handler returns. Resolves with 413 if the body
 * is larger, at once if `declaredBytes` (Content-Length, or NaN) is; with 408 if it is not complete in time;
 * with 503 if all bodies of its budget together are too large; with an empty body if the request is over
 * before the body is complete.
 *
 * A refusal does not wait for the rest of the body, which uWebSockets.js reads and discards once the request
 * is answered. Closing the connection of a client that still sends would reset it, often before the client
 * has read the refusal.
 */
function receiveBody(
  res: HttpResponse,
  { bytesMax, msMax, budget: budgetName }: BodyLimit,
  declaredBytes: number,
  onOver: (listener: () => void) => void,
): Promise<Outcome<Buffer, BodyFailureKind>> {
  const budget = BODY_BUDGETS[budgetName];
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let received = 0;
    let held = 0;
    let refusal: Failure<BodyFailureKind> | undefined;
    const finish = (outcome: Outcome<Buffer, BodyFailureKind>): void => {
      clearTimeout(deadline);
      budget.release(held);
      held = 0;
      chunks.length = 0;
      resolve(outcome);
    };
    const refuse = (failure: Failure<BodyFailureKind>): void => {
      refusal = failure;
      finish(failure);
    };
    const deadline = setTimeout(() => refuse(fail('bodyTooSlow')), msMax);
    onOver(() => finish(Buffer.alloc(0)));
    if (declaredBytes > bytesMax) refuse(fail('bodyTooLarge'));
    res.onData((chunk, isLast) => {
      if (refusal !== undefined) return;
      received += chunk.byteLength;
      if (received > bytesMax) {
        refuse(fail('bodyTooLarge'));
      } else if (!budget.hold(received, chunk.byteLength)) {
        refuse(failUntil('unavailable', HELD_RETRY_MS));
      } else {
        held += chunk.byteLength;
        // A copy, because the memory of a chunk is valid only during this call.
        chunks.push(Buffer.copyBytesFrom(new Uint8Array(chunk)));
        if (isLast) finish(joined(chunks));
      }
    });
  });
}

/** Returns chunks as one, without another copy where there is one. */
function joined(chunks: readonly Buffer[]): Buffer {
  const [first, ...others] = chunks;
  return first !== undefined && others.length === 0 ? first : Buffer.concat(chunks);
}

// Memory budget for request bodies that have not arrived completely. A body arrives before its sender is
// known, so anybody who can reach the service can make it buffer some. Deliveries of webhooks, whose
// signature can only be verified over the whole body, have a separate budget.

/** Maximum total bytes of incomplete bodies of calls that have a credential in their head. */
const CREDENTIALED_BYTES_MAX = 256 * 1024 * 1024;
/** Maximum total bytes of incomplete bodies whose sender can only be verified at their end. */
const UNVERIFIED_BYTES_MAX = 128 * 1024 * 1024;

export class BodyBudget {
  private held = 0;

  constructor(private readonly bytesMax: number) {}

  /**
   * Reserves `chunkBytes` for a body that has `bodyBytes` including them; returns false if the budget would
   * be exceeded. Bodies above `LIMIT.bodyBytesMax` may use half of it, so that room is left for all others.
   */
  hold(bodyBytes: number, chunkBytes: number): boolean {
    const bytesMax = bodyBytes > LIMIT.bodyBytesMax ? this.bytesMax / 2 : this.bytesMax;
    if (this.held + chunkBytes > bytesMax) return false;
    this.held += chunkBytes;
    return true;
  }

  /** Returns reserved bytes to the budget. */
  release(bytes: number): void {
    this.held -= bytes;
  }
}

/** Budgets of this process; a route names one of them. */
const BODY_BUDGETS = {
  credentialed: new BodyBudget(CREDENTIALED_BYTES_MAX),
  unverified: new BodyBudget(UNVERIFIED_BYTES_MAX),
} as const;

// Reading of the header `Authorization: Bearer` (RFC 6750; the scheme's case does not matter).

/** Returns the token; undefined if the header is absent or has another scheme. */
export function bearerToken(exchange: Pick<Exchange, 'headers'>): string | undefined {
  return /^bearer +(\S+) *$/i.exec(exchange.headers.get('authorization') ?? '')?.[1];
}

// Request smuggling: a proxy and this service must agree where a body ends. uWebSockets.js reads the first
// Content-Length, and any Transfer-Encoding as `chunked`; a proxy in front may read another one, and regard
// as part of a body what is a request here.

const LENGTH = /^\d+$/;
/** Refusal of such a request; its connection is to be closed. */
export const AMBIGUOUS_BODY = unstored(failureReply(invalidField('body', 'Its end is ambiguous')));

/** Returns whether the headers leave open where the body ends (RFC 9112, section 6). */
export function isBodyAmbiguous(headers: ReadonlyMap<string, string>): boolean {
  const length = headers.get('content-length');
  const coding = headers.get('transfer-encoding');
  if (coding === undefined) return length !== undefined && !LENGTH.test(length);
  // uWebSockets.js reads trailers as the next request.
  return coding.toLowerCase() !== 'chunked' || length !== undefined || headers.has('trailer');
}
