// Conditional GET (RFC 9110, section 13.1.2): who names the copy it already has is told that it is still
// good, instead of being sent it again.

import { createHash } from 'node:crypto';
import type { Exchange } from './exchange.ts';
import type { Reply } from './reply.ts';

/** A body that may be asked for again and again, with the tag that tells one state of it from another. */
export type TaggedBody = { readonly bytes: Buffer; readonly etag: string };

const ENTITY_TAG = /(?:W\/)?("[^"]*")/g;

/**
 * 200 with the body, or 304 without one when `If-None-Match` names it. Both carry `headers` and the `ETag`;
 * a 304 says nothing of the type (section 15.4.5).
 */
export function conditionalReply(
  exchange: Pick<Exchange, 'headers'>,
  body: TaggedBody,
  contentType: string,
  headers: NonNullable<Reply['headers']> = [],
): Reply {
  const tagged = [...headers, ['ETag', body.etag]] as const;
  if (isKnown(exchange.headers.get('if-none-match'), body.etag)) {
    return { status: 304, headers: tagged };
  }
  return { status: 200, contentType, headers: tagged, body: body.bytes };
}

/** Gives a body its strong entity tag, quotes included: equal bytes, equal tag, on every node. */
export function tagBody(bytes: Buffer): TaggedBody {
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` };
}

/** Weak comparison, as this header demands: caches that compress turn a strong tag into a weak one. */
function isKnown(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  for (const [, tag] of header.matchAll(ENTITY_TAG)) {
    if (tag === etag) return true;
  }
  return false;
}
