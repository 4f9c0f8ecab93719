// Whether a request comes from a page of this service. SameSite keeps other sites' requests from carrying the
// session; this also holds where a site is more than one host, and where a browser does not know SameSite.

import type { Exchange } from '../exchange.ts';

/**
 * Whether the `Origin` is the one of `publicUrl`, or of the host that was asked. A page cannot choose either
 * header. Behind a proxy that ends TLS the scheme is not known here, so both are taken for the asked host.
 */
export function isOwnOrigin(
  { headers }: Pick<Exchange, 'headers'>,
  publicUrl: string | undefined,
): boolean {
  const origin = headers.get('origin');
  const host = headers.get('host');
  if (origin === undefined) return false;
  if (publicUrl !== undefined && origin === new URL(publicUrl).origin) return true;
  return (
    host !== undefined &&
    host !== '' &&
    ['http', 'https'].some((each) => origin === `${each}://${host}`)
  );
}

/** Where the service was reached, for addresses that people are given when none is configured. */
export function originOf({ headers }: Pick<Exchange, 'headers'>): string {
  return headers.get('origin') ?? `http://${headers.get('host') ?? 'localhost'}`;
}
