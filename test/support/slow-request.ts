// Request whose body arrives in two parts, because a caller's rights may change between them.

import { connect, type Socket } from 'node:net';

type Addressed = { readonly url: string };

export type SlowAnswer = { readonly status: number; readonly body: Record<string, unknown> };

export class SlowRequest {
  private readonly socket: Socket;
  private readonly rest: string;
  private readonly answer: Promise<SlowAnswer>;

  private constructor(socket: Socket, rest: string) {
    this.socket = socket;
    this.rest = rest;
    this.answer = answerOf(socket);
    // An answer may come before the rest is sent; `finish` returns it then.
    this.answer.catch(() => undefined);
  }

  /** Sends the head with the first half of the body over a new connection; `body` is text or becomes JSON. */
  static async begin(
    node: Addressed,
    method: string,
    path: string,
    { headers = {}, body }: { headers?: Record<string, string>; body: unknown },
  ): Promise<SlowRequest> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const { hostname, port, host } = new URL(node.url);
    const socket = connect(Number(port), hostname);
    const lines = Object.entries({
      host,
      connection: 'close',
      'content-length': String(Buffer.byteLength(text)),
      ...headers,
    }).map(([name, value]) => `${name}: ${value}`);
    const half = Math.ceil(text.length / 2);
    const begun = new SlowRequest(socket, text.slice(half));
    const head = [`${method} ${path} HTTP/1.1`, ...lines].join('\r\n');
    await new Promise<void>((resolve, reject) => {
      socket.write(`${head}\r\n\r\n${text.slice(0, half)}`, (error) =>
        error ? reject(error) : resolve(),
      );
    });
    return begun;
  }

  /** Sends the rest of the body and returns the answer. */
  finish(): Promise<SlowAnswer> {
    this.socket.write(this.rest);
    return this.answer;
  }
}

function answerOf(socket: Socket): Promise<SlowAnswer> {
  return new Promise((resolve, reject) => {
    let text = '';
    const read = (): void => {
      const [head = '', body = ''] = text.split('\r\n\r\n', 2);
      const length = /^content-length: (\d+)/im.exec(head)?.[1];
      if (length === undefined || Buffer.byteLength(body) < Number(length)) return;
      resolve({ status: Number(head.slice(9, 12)), body: JSON.parse(body) });
      socket.destroy();
    };
    socket.on('data', (data) => {
      text += data.toString();
      read();
    });
    socket.once('error', reject);
    socket.once('close', () => reject(new Error(`closed without a whole answer: ${text}`)));
  });
}
