// Handlers of the addresses of all updaters, by the first segment of their paths: such requests do not pass
// the router.

import type { RequestHandler } from '../server.ts';
import type { UpdaterRoute } from './updater-route.ts';

type Handlers = UpdaterRoute['handlers'];

/**
 * Returns the handlers by prefix. Where an updater has a prefix not to itself, the form of the address tells
 * whose it is; one that is nobody's is left to the router.
 */
export function directHandlers(
  routes: readonly UpdaterRoute[],
): Readonly<Record<string, Handlers>> {
  const prefixes = new Set(routes.map(({ pattern }) => pattern.prefix));
  return Object.fromEntries(
    [...prefixes].map((each) => [
      each,
      handlersOf(routes.filter(({ pattern }) => pattern.prefix === each)),
    ]),
  );
}

function handlersOf(sharing: readonly UpdaterRoute[]): Handlers {
  const [first, ...others] = sharing;
  if (first === undefined) throw new Error('a prefix without an updater');
  return others.length === 0 && first.pattern.isPlain
    ? first.handlers
    : { get: choosing(sharing, 'get'), head: choosing(sharing, 'head') };
}

function choosing(sharing: readonly UpdaterRoute[], method: keyof Handlers): RequestHandler {
  return (res, req) => {
    const path = req.getUrl();
    const route = sharing.find(({ pattern }) => pattern.fits(path));
    if (route === undefined) req.setYield(true);
    else route.handlers[method](res, req);
  };
}
