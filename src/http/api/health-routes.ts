// Routes of health, metrics and the root address, for load balancers, monitoring and people who try it.

import { fail, failUntil } from '../../contract/failure.ts';
import type { NodeState } from '../../serving/readiness.ts';
import { failureReply, jsonReply, NO_STORE } from '../transport/reply.ts';
import type { Route } from '../transport/router.ts';

/** Tells whether the node is ready, and which stores it does without. */
export type ReadinessProbe = () => Promise<NodeState>;

/** Reads the metrics as Prometheus text; undefined when the process that adds them up does not answer. */
export type ReadMetrics = () => Promise<string | undefined>;

const RETRY_MS = 1000;
/** Media type of the text format that Prometheus has read since 2014. */
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Builds the routes `/healthz` and `/readyz`. */
export function healthRoutes(readiness: ReadinessProbe): readonly Route[] {
  return [
    { method: 'GET', path: '/healthz', handler: () => jsonReply(200, { status: 'ok' }) },
    {
      method: 'GET',
      path: '/readyz',
      handler: async () => {
        const { obstacle, degraded } = await readiness();
        const stores = degraded.length === 0 ? {} : { degraded };
        if (obstacle === undefined) return jsonReply(200, { status: 'ready', ...stores });
        const reply = jsonReply(503, { error: obstacle, ...stores });
        return { ...reply, headers: [['Retry-After', '1']] };
      },
    },
  ];
}

/** Builds the route `/metrics`. */
export function metricsRoutes(readMetrics: ReadMetrics): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/metrics',
      handler: async () => {
        const body = await readMetrics();
        // The metrics of this process alone would look to the scraper like counters that fell.
        if (body === undefined) return failureReply(failUntil('unavailable', RETRY_MS));
        return { status: 200, contentType: METRICS_TYPE, body };
      },
    },
  ];
}

// Route of `/`, which people type into a browser: it leads them to the console.

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
