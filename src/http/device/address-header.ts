// Header that leads to a file of a publisher.

import type { HeaderPair } from '../transport/reply.ts';

const OTHER_THAN_VISIBLE_ASCII = /[^\x21-\x7e]/gu;

/**
 * Returns the header with an address. What is not visible ASCII is percent-encoded: stored addresses may have
 * control characters, which were not always refused.
 */
export function addressHeader(url: string): HeaderPair {
  return ['Location', url.toWellFormed().replace(OTHER_THAN_VISIBLE_ASCII, encodeURIComponent)];
}
