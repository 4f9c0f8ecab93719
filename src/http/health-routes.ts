// Health and metrics, for balancers and monitoring.

import type { Registry } from 'prom-client';
import { jsonReply } from './reply.ts';
import type { Route } from './router.ts';

/** Undefined when the node can decide, else why it cannot, in a few words. */
export type Readiness = () => Promise<string | undefined>;

/** `/healthz`, `/readyz` and `/metrics`. */
export function healthRoutes(readiness: Readiness, registry: Registry): readonly Route[] {
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
      handler: async () => ({
        status: 200,
        contentType: registry.contentType,
        body: await registry.metrics(),
      }),
    },
  ];
}
