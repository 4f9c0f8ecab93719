// Requests and responses of uWebSockets.js for tests that need no server.

import type { HttpRequest, HttpResponse } from '../../src/http/transport/http-app.ts';

/** A GET of this path, without a query and headers. */
export function requestOf(path: string): HttpRequest {
  return { getUrl: () => path, getQuery: () => undefined, getHeader: () => '' } as never;
}

/** Response that adds its status, such as `204`, to `statuses`. */
export function responseOf(statuses: string[]): HttpResponse {
  return {
    onAborted: () => {},
    cork: (write: () => void) => write(),
    writeStatus: (status: string) => void statuses.push(status.slice(0, 3)),
    writeHeader: () => {},
    end: () => {},
    endWithoutBody: () => {},
    tryEnd: () => [true, true],
  } as never;
}
