// Header of a redirect to a publisher's file.

import type { HeaderPair } from '../transport/reply.ts';

const OTHER_THAN_VISIBLE_ASCII = /[^\x21-\x7e]/gu;

/**
 * Returns the header with a URL. All but visible ASCII is percent-encoded: stored URLs may have control
 * characters, which earlier versions did not refuse.
 */
export function addressHeader(url: string): HeaderPair {
  return ['Location', url.toWellFormed().replace(OTHER_THAN_VISIBLE_ASCII, encodeURIComponent)];
}
