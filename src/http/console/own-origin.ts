// Check that a request comes from a page of this service. SameSite keeps requests of other sites from
// carrying the session; the check also holds where one site has several hosts, and in browsers without
// SameSite.

import type { Exchange } from '../exchange.ts';

/**
 * Returns whether `Origin` is the origin of `consoleUrl`, or of the host in `Host`. A page can set neither
 * header. Behind a proxy that ends TLS the scheme is not known here, so that http and https are both accepted
 * for the host.
 */
export function isOwnOrigin(
  { headers }: Pick<Exchange, 'headers'>,
  consoleUrl: string | undefined,
): boolean {
  const origin = headers.get('origin');
  const host = headers.get('host');
  if (origin === undefined) return false;
  if (consoleUrl !== undefined && origin === new URL(consoleUrl).origin) return true;
  return (
    host !== undefined &&
    host !== '' &&
    ['http', 'https'].some((each) => origin === `${each}://${host}`)
  );
}

/** Returns the origin by which the client reached the service, for links when no base URL is configured. */
export function requestOrigin({ headers }: Pick<Exchange, 'headers'>): string {
  return headers.get('origin') ?? `http://${headers.get('host') ?? 'localhost'}`;
}
