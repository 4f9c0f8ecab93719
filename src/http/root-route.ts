// Route of `/`, which people type into a browser: it leads them to the console.

import { fail } from '../contract/failure.ts';
import { failureReply, NO_STORE } from './reply.ts';
import type { Route } from './router.ts';

/** Header of both answers, because they differ by what the request accepts. */
const VARY = ['Vary', 'Accept'] as const;
/** Media type that browsers name when a person opens an address, and programs do not. */
const ACCEPTS_HTML = /(?:^|,)\s*text\/html\s*(?:[;,]|$)/i;

/**
 * Builds the route of `/`. It redirects a browser to the console below `consoleUrl`, a base URL or '' for the
 * address that was asked; for others it is 404, as every unknown path.
 */
export function rootRoute(consoleUrl: string): Route {
  const notFound = failureReply(fail('notFound'));
  const headers = [['Location', `${consoleUrl}/console`], VARY, ...NO_STORE] as const;
  return {
    method: 'GET',
    path: '/',
    handler: (exchange) =>
      ACCEPTS_HTML.test(exchange.headers.get('accept') ?? '')
        ? { status: 302, headers }
        : { ...notFound, headers: [VARY] },
  };
}
