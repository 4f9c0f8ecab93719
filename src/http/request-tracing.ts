// Traces of the requests that change something: calls of the management API, and deliveries to the webhook.

import type { Surface } from '../observe/route-counts.ts';
import type { Tracing } from '../observe/tracing.ts';
import type { RequestWatch, RequestWatcher, WatchedRequest } from './request-watch.ts';

const TRACED: ReadonlySet<Surface> = new Set(['management', 'webhook']);
const PATH_LENGTH_MAX = 500;
/** Status from which a request has failed by the service's own fault. */
const FAULT = 500;
/** Status of requests whose client left before the answer. */
const CLIENT_GONE = 499;

export class RequestTracing implements RequestWatcher {
  private readonly tracing: Tracing;

  constructor(tracing: Tracing) {
    this.tracing = tracing;
  }

  watches(surface: Surface): boolean {
    return TRACED.has(surface);
  }

  begin({ labels, method, path, header, notes }: WatchedRequest): RequestWatch {
    const span = this.tracing.begin({
      name: `${method} ${labels.route}`,
      kind: 'server',
      attributes: {
        'http.request.method': method,
        'http.route': labels.route,
        'url.path': path.slice(0, PATH_LENGTH_MAX),
        'sluice.request_id': notes.requestId,
      },
      header,
    });
    return {
      run: (work) => span.run(work),
      end(status) {
        const answered = status === CLIENT_GONE ? undefined : status;
        const attributes = { 'http.response.status_code': answered, 'sluice.app': notes.app };
        span.end(attributes, status >= FAULT ? String(status) : undefined);
      },
    };
  }
}
