// Replies as values: how they are built, the status of each refusal, entity tags, accepted encodings, and the
// writing of large bodies in pieces.

import { createHash } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Failure, FailureKind } from '../../contract/failure.ts';
import type { EventSource } from './event-stream.ts';
import type { HttpResponse } from './http-app.ts';

export type HeaderPair = readonly [name: string, value: string];

/** Status and headers as text: `kept` keeps the connection open, `last` is for its last reply. */
export type ReplyHead = { readonly kept: string; readonly last: string };

export type Reply = {
  readonly status: number;
  /** Head for the status that was built in advance; `headers` and `contentType` are written after it. */
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

/** Headers of a reply that depends on the caller or the time: no cache may store it. */
export const NO_STORE = [['Cache-Control', 'no-store']] as const;

/** Returns the reply with headers that forbid caches to store it. */
export function unstored(reply: Reply): Reply {
  return { ...reply, headers: [...(reply.headers ?? []), ...NO_STORE] };
}

/**
 * Builds the head of replies that always have this status and these headers. It takes one call of
 * uWebSockets.js to write, because that writes the text of a status unchanged, including line breaks.
 */
export function replyHead(status: number, headers: NonNullable<Reply['headers']>): ReplyHead {
  const lines = headers.map((pair) => pair.join(': '));
  const text = statusText(status);
  return { kept: [text, KEEP_ALIVE, ...lines].join('\r\n'), last: [text, ...lines].join('\r\n') };
}

/** Characters that a header may have: engines encode others differently, and a line break would end it. */
const SENDABLE = /^[\t\x20-\x7e]*$/;

/** Returns the reply if all of its headers can be sent; throws otherwise. */
export function sendable(reply: Reply): Reply {
  for (const [name, value] of reply.headers ?? []) {
    if (SENDABLE.test(name) && SENDABLE.test(value)) continue;
    throw new Error(`The header ${JSON.stringify(name)} cannot be sent: ${JSON.stringify(value)}`);
  }
  return reply;
}

/**
 * Builds the reply of a refusal: its status; as body the error, or the request that waits for an approval;
 * and `Retry-After` if the refusal has `retryAfterSeconds`.
 */
export function failureReply(failure: Failure): Reply {
  const { approval, findings, isRepeated } = failure;
  if (approval !== undefined) {
    const answer = { approval, ...(findings && { findings }) };
    const waiting = jsonReply(FAILURE_STATUS[failure.failure], answer);
    return isRepeated ? { ...waiting, headers: [['Idempotent-Replayed', 'true']] } : waiting;
  }
  const reply = jsonReply(FAILURE_STATUS[failure.failure], { error: failure.message });
  const headers: [string, string][] =
    failure.retryAfterSeconds === undefined
      ? []
      : [['Retry-After', String(failure.retryAfterSeconds)]];
  return { ...reply, headers };
}

/** Header that says how long an idle connection stays open: uWebSockets.js closes it after 8 to 12 s. */
const KEEP_ALIVE = 'Keep-Alive: timeout=8';

/** Returns the status with its reason, `404 Not Found`, which uWebSockets.js expects in one text. */
function statusText(status: number): string {
  return `${status} ${STATUS_CODES[status] ?? 'Unknown'}`;
}

// Writing of large bodies at the pace of their client. uWebSockets.js copies bytes that the socket does not
// accept at once, without a bound, and still answers the next request of the connection: a client that sends
// requests and reads nothing would fill the memory. Copying also keeps the serving thread busy (2 ms per
// megabyte). So a large body is written in pieces from the one buffer that all clients share. Until its end,
// uWebSockets.js regards the request as unanswered, and closes the connection if another request arrives. A
// connection whose socket accepts nothing is closed at once.

/** Size in bytes above which `writeLargeBody` writes a body. */
export const LARGE_BODY_BYTES = 4096;
const PIECE_BYTES = 256 * 1024;

/** Writes a body after the head of its reply. Must run corked. */
export function writeLargeBody(res: HttpResponse, body: Buffer): void {
  const first = body.length > PIECE_BYTES ? body.subarray(0, PIECE_BYTES) : body;
  const [isTaken, isDone] = res.tryEnd(first, body.length);
  if (isDone) return;
  // A socket that accepts nothing is full of unread answers to earlier requests.
  if (res.getWriteOffset() === 0) res.close();
  else writeRest(res, body, isTaken);
}

function writeRest(res: HttpResponse, body: Buffer, isFirstTaken: boolean): void {
  let isOpen = true;
  /** Writes the next piece; returns whether the socket accepted all of it. */
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

// Conditional GET (RFC 9110, section 13.1.2): a client that names the copy which it has gets 304 if the copy
// is still current, instead of the body.

/** Body that clients request repeatedly, with the entity tag that distinguishes its states. */
export type TaggedBody = { readonly bytes: Buffer; readonly etag: string };

const ENTITY_TAG = /(?:W\/)?("[^"]*")/g;

/**
 * Returns 200 with the body, or 304 without a body if `ifNoneMatch` names the body's tag. Both have `headers`
 * and the `ETag`; a 304 has no `Content-Type` (section 15.4.5).
 */
export function conditionalReply(
  ifNoneMatch: string | undefined,
  body: TaggedBody,
  contentType: string,
  headers: NonNullable<Reply['headers']> = [],
): Reply {
  const tagged = [...headers, ['ETag', body.etag]] as const;
  if (isKnown(ifNoneMatch, body.etag)) {
    return { status: 304, headers: tagged };
  }
  return { status: 200, contentType, headers: tagged, body: body.bytes };
}

/** Returns a body with its strong entity tag, in quotes. Equal bytes have equal tags on every node. */
export function tagBody(bytes: Buffer): TaggedBody {
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` };
}

/**
 * Returns whether the header names the tag, by the weak comparison that `If-None-Match` requires: caches that
 * compress turn a strong tag into a weak one.
 */
function isKnown(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  for (const [, tag] of header.matchAll(ENTITY_TAG)) {
    if (tag === etag) return true;
  }
  return false;
}

// HTTP status of each refusal.

export const FAILURE_STATUS: Readonly<Record<FailureKind, number>> = {
  invalid: 400,
  unauthorized: 401,
  adminUnauthorized: 401,
  signedOut: 401,
  wrongLogin: 401,
  wrongPasskey: 401,
  badSignature: 401,
  edgeUnauthorized: 401,
  secondFactorNeeded: 403,
  secondFactorFirst: 403,
  forbidden: 403,
  keyMayNot: 403,
  passwordsOff: 403,
  originNotAllowed: 403,
  unknownApp: 404,
  unknownChannel: 404,
  unknownRelease: 404,
  unknownPlan: 404,
  unknownStop: 404,
  unknownApproval: 404,
  unknownOrganization: 404,
  unknownDevice: 404,
  unknownKey: 404,
  unknownDestination: 404,
  unknownDelivery: 404,
  unknownEdgeToken: 404,
  unknownGatewayToken: 404,
  unknownDdiSecret: 404,
  unknownMember: 404,
  unknownInvitation: 404,
  unknownAccount: 404,
  unknownPasskey: 404,
  unknownSession: 404,
  unknownReset: 404,
  unknownArrival: 404,
  unknownFile: 404,
  unknownAction: 404,
  deviceUnauthorized: 401,
  unknownWebhook: 404,
  noReleaseOffered: 404,
  noDownload: 404,
  notFound: 404,
  methodNotAllowed: 405,
  versionExists: 409,
  appArchived: 409,
  channelFull: 409,
  versionWithdrawn: 409,
  notPromotable: 409,
  notPublished: 409,
  idempotencyKeyUsed: 409,
  changedMeanwhile: 409,
  planRefused: 409,
  rolledBack: 409,
  awaitsApproval: 202,
  tooManyApprovals: 409,
  approvalDecided: 409,
  approvalFailed: 409,
  alreadyOffered: 409,
  alreadyRunning: 409,
  refTaken: 409,
  channelExists: 409,
  followsInCircle: 409,
  ddiNeedsAuth: 409,
  alreadySetUp: 409,
  passkeysUnavailable: 409,
  staleChallenge: 409,
  passkeyTaken: 409,
  tooManyPasskeys: 409,
  accountKnown: 409,
  identityTaken: 409,
  alreadyMember: 409,
  lastOwner: 409,
  tooManyInvitations: 409,
  tooManyDestinations: 409,
  tooManyGatewayTokens: 409,
  tooManyDdiSecrets: 409,
  destinationOff: 409,
  noSecret: 409,
  recipientKnown: 409,
  unknownLink: 404,
  mailMissing: 409,
  notEmbedded: 409,
  backupRunning: 409,
  secretKeyMissing: 409,
  otherRecord: 409,
  edgesNeedSecretKey: 409,
  bodyTooSlow: 408,
  bodyTooLarge: 413,
  narrowing: 422,
  rateLimited: 429,
  tooManyFeeds: 429,
  internal: 500,
  webhookUnreadable: 503,
  ddiSecretUnreadable: 503,
  unavailable: 503,
  providerAway: 503,
  otherProvider: 503,
  noProvider: 503,
};

// Reading of `Accept-Encoding` (RFC 9110, section 12.5.3).

/**
 * Returns whether a request accepts a body in this encoding. `*` stands for the encodings that the header
 * does not name, and `q=0` refuses an encoding. Without the header it accepts none, because the client has
 * not asked for compression.
 */
export function acceptsEncoding(header: string | undefined, encoding: string): boolean {
  let rest = false;
  for (const part of (header ?? '').split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    const isRefused = parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
    if (name === encoding) return !isRefused;
    if (name === '*') rest = !isRefused;
  }
  return rest;
}
