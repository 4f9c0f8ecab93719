// Reading of the `Authorization: Bearer` header (RFC 6750; the scheme's case does not matter).

import type { Exchange } from './exchange.ts';

/** Returns the token; undefined when the header is absent or has another scheme. */
export function bearerToken(exchange: Pick<Exchange, 'headers'>): string | undefined {
  return /^bearer +(\S+) *$/i.exec(exchange.headers.get('authorization') ?? '')?.[1];
}
