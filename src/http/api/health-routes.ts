// Routes of health, metrics and `/`, for load balancers, monitoring, and people who type the address.

import { fail, failUntil } from '../../contract/failure.ts';
import type { NodeState } from '../../serving/readiness.ts';
import { failureReply, jsonReply, NO_STORE } from '../transport/reply.ts';
import type { Route } from '../transport/router.ts';

/** Returns whether the node is ready, and which unavailable stores it does without. */
export type ReadinessProbe = () => Promise<NodeState>;

/** Reads the metrics as Prometheus text; undefined if the process that adds them up does not answer. */
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
        // With the metrics of this process alone, counters would seem to fall.
        if (body === undefined) return failureReply(failUntil('unavailable', RETRY_MS));
        return { status: 200, contentType: METRICS_TYPE, body };
      },
    },
  ];
}

// Route of `/`, which people type into a browser: it redirects them to the console.

/** Header of both answers, because they depend on the header `Accept` of the request. */
const VARY = ['Vary', 'Accept'] as const;
/** Media type in `Accept`, by which a person's browser is told from programs. */
const ACCEPTS_HTML = /(?:^|,)\s*text\/html\s*(?:[;,]|$)/i;

/**
 * Builds the route of `/`. It redirects a browser to the console below `consoleUrl`, a base URL, or '' for
 * the host of the request. Other clients get 404, as for every unknown path.
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
