// Requests and responses of uWebSockets.js for tests that need no server.

import type {
  HttpRequest,
  HttpResponse,
  RequestHandler,
} from '../../src/http/transport/http-app.ts';

export type FakeAnswer = {
  readonly status: number;
  /** Headers by lower-case name; values of a repeated header are joined by commas. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
};

export type Asked = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Request of an address as it is written; names of headers are in lower case. */
export function requestOf(address: string, { method = 'GET', headers = {} }: Asked = {}) {
  const [path = '', query] = address.split(/\?(.*)/s);
  let isYielded = false;
  return {
    isYielded: () => isYielded,
    getMethod: () => method.toLowerCase(),
    getUrl: () => path,
    getQuery: (key?: string) =>
      key === undefined ? query : (new URLSearchParams(query).get(key) ?? undefined),
    getHeader: (name) => headers[name] ?? '',
    forEach(tell) {
      for (const [name, value] of Object.entries(headers)) tell(name, value);
    },
    setYield: (yields) => {
      isYielded = yields;
    },
  } satisfies HttpRequest & { isYielded(): boolean };
}

/** Response that hands over what it was ended with. */
export function responseFor(answer: (answer: FakeAnswer) => void): HttpResponse {
  const head: string[] = [];
  const end = (body: string | Uint8Array = '') => {
    const [status = '', ...lines] = head;
    const headers = new Map<string, string>();
    for (const line of lines) {
      const [text = '', value = ''] = line.split(/: (.*)/s);
      const [name, known] = [text.toLowerCase(), headers.get(text.toLowerCase())];
      headers.set(name, known === undefined ? value : `${known}, ${value}`);
    }
    answer({ status: Number.parseInt(status, 10), headers, text: Buffer.from(body).toString() });
  };
  return {
    onAborted: () => {},
    onData: () => {},
    cork: (write: () => void) => write(),
    writeStatus: (text: string) => head.push(...text.split('\r\n')),
    writeHeader: (name: string, value: string) => head.push(`${name}: ${value}`),
    end,
    endWithoutBody: () => end(),
    tryEnd(chunk: Uint8Array) {
      end(chunk);
      return [true, true];
    },
    getRemoteAddressAsText: () => '192.0.2.1',
  } as unknown as HttpResponse;
}

/** Response that adds its status, such as `204`, to `statuses`. */
export function responseOf(statuses: string[]): HttpResponse {
  return responseFor(({ status }) => void statuses.push(String(status)));
}

/** Returns what a handler answers at once to an address. */
export function answerOf(handler: RequestHandler, address: string, headers = {}): FakeAnswer {
  const answers: FakeAnswer[] = [];
  handler(
    responseFor((answer) => void answers.push(answer)),
    requestOf(address, { headers }),
  );
  return answers[0] as FakeAnswer;
}
