// Requests and responses of uWebSockets.js for tests that need no server.

import type {
  HttpRequest,
  HttpResponse,
  RequestHandler,
} from '../../src/http/transport/http-app.ts';

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

/** Returns what a handler answers at once to a path, which may have a query. */
export function answerOf(handler: RequestHandler, path: string, told: Record<string, string> = {}) {
  const [url = '', query] = path.split('?', 2);
  let [head, text] = ['', ''];
  const end = (body: string | Uint8Array = '') => {
    text = Buffer.from(body).toString('utf8');
  };
  const res = {
    ...{ ...responseOf([]), end, endWithoutBody: () => end() },
    tryEnd: (chunk: Uint8Array) => [end(chunk) === undefined, true],
    writeStatus: (status: string) => {
      head = status;
    },
    writeHeader: (name: string, value: string) => {
      head += `\r\n${name}: ${value}`;
    },
  };
  const asked = { getQuery: () => query, getHeader: (name: string) => told[name] ?? '' };
  handler(res as never, { ...requestOf(url), ...asked } as never);
  const pairs = head.split('\r\n').slice(1);
  const headers = new Map(pairs.map((line) => line.split(': ') as [string, string]));
  return { status: Number(head.slice(0, 3)), headers, text };
}
