// Health and metrics, for balancers and monitoring.

import { failUntil } from '../contract/failure.ts';
import { failureReply, jsonReply } from './reply.ts';
import type { Route } from './router.ts';

/** Undefined when the node can decide, else why it cannot, in a few words. */
export type Readiness = () => Promise<string | undefined>;

/** The metrics as Prometheus text; undefined when whoever adds them up does not answer. */
export type Figures = () => Promise<string | undefined>;

const RETRY_MS = 1000;
/** Of the text format that Prometheus has read since 2014. */
const FIGURES_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** `/healthz`, `/readyz` and `/metrics`. */
export function healthRoutes(readiness: Readiness, figures: Figures): readonly Route[] {
  return [
    { method: 'GET', path: '/healthz', handler: () => jsonReply(200, { status: 'ok' }) },
    {
      method: 'GET',
      path: '/readyz',
      handler: async () => {
        const reason = await readiness();
        if (reason === undefined) return jsonReply(200, { status: 'ready' });
        return { ...jsonReply(503, { error: reason }), headers: [['Retry-After', '1']] };
      },
    },
    {
      method: 'GET',
      path: '/metrics',
      handler: async () => {
        const body = await figures();
        // Not this process's own figures in their place: to whoever scrapes, counters would seem to fall.
        if (body === undefined) return failureReply(failUntil('unavailable', RETRY_MS));
        return { status: 200, contentType: FIGURES_TYPE, body };
      },
    },
  ];
}
