// Conditional GET (RFC 9110, section 13.1.2): a client that names the copy it already has is told that the
// copy is still valid, instead of receiving it again.

import { createHash } from 'node:crypto';
import type { Reply } from './reply.ts';

/** Body that clients request repeatedly, with the entity tag that tells its states apart. */
export type TaggedBody = { readonly bytes: Buffer; readonly etag: string };

const ENTITY_TAG = /(?:W\/)?("[^"]*")/g;

/**
 * Returns 200 with the body, or 304 without one when `ifNoneMatch` names the body's tag. Both carry `headers`
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

/** Gives a body its strong entity tag, quotes included. Equal bytes have equal tags on every node. */
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
