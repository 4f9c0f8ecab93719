// Addresses as they are written for clients: of characters that every client takes in one.

import { parseUrl } from './parse-url.ts';

/** What RFC 3986 has in no address; some clients take such an address for none. */
const NEVER = /["<>\\^`{|}]/g;
const WRITABLE = /^[^\s"<>\\^`{|}\p{Cc}\P{ASCII}]*$/u;

/** Returns the address in ASCII, with what no address may have percent-encoded; most stay as they are. */
export function wireAddress(url: string): string {
  if (WRITABLE.test(url)) return url;
  return parseUrl(url)?.href.replace(NEVER, encodeURIComponent) ?? url;
}
