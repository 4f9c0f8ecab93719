// Clients that speak HTTP byte by byte, on a connection of their own: for what no HTTP client would send.

import { connect, type Socket } from 'node:net';

export type RawAnswer = {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
};
type Addressed = { readonly url: string };

const PATIENCE_MS = 2000;

/** Returns a request's head, by its method and path and further header lines. */
export function requestHead(methodAndPath: string, ...lines: string[]): string {
  return [`${methodAndPath} HTTP/1.1`, 'Host: sluice.test', ...lines, '', ''].join('\r\n');
}

/** Client of one connection, with what it was answered. */
export class Dialogue {
  readonly socket: Socket;
  isClosed = false;
  /** All that was answered, one character per byte. */
  text = '';

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('data', (chunk) => {
      this.text += chunk.toString('latin1');
    });
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      this.isClosed = true;
    });
  }

  get statuses(): number[] {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }

  /** Returns so many answers once they are whole; rejects when the connection ends before. */
  async answers(count: number): Promise<RawAnswer[]> {
    for (;;) {
      const answers = readAnswers(Buffer.from(this.text, 'latin1'));
      if (answers.length >= count) return answers;
      if (this.isClosed) throw new Error(`Closed after ${JSON.stringify(this.text)}`);
      await new Promise<void>((resolve) => {
        const look = () => {
          this.socket.off('data', look).off('close', look);
          resolve();
        };
        this.socket.on('data', look).on('close', look);
      });
    }
  }
}

/** Opens a connection to a node, and sends bytes. */
export function beginDialogue({ url }: Addressed, parts: readonly (string | Buffer)[]): Dialogue {
  const client = new Dialogue(Number(new URL(url).port));
  for (const part of parts) client.socket.write(part);
  return client;
}

/**
 * Sends bytes on a connection of its own; resolves as soon as the answer is whole. A `next` request is sent
 * after the first answer, and both answers are returned.
 */
export async function exchangeRaw(
  node: Addressed,
  parts: readonly (string | Buffer)[],
  next?: string,
): Promise<RawAnswer[]> {
  const client = beginDialogue(node, parts);
  let answers = await client.answers(1);
  if (next !== undefined) {
    client.socket.write(next);
    answers = await client.answers(2);
  }
  client.socket.destroy();
  return answers;
}

/** Sends bytes and leaves, by ending or by destroying the connection; resolves when it is gone. */
export function abandon(
  node: Addressed,
  bytes: string | Buffer,
  ending: 'destroy' | 'end',
): Promise<void> {
  // The service may answer, close or reset: all are allowed here.
  const { socket } = beginDialogue(node, []);
  socket.setTimeout(PATIENCE_MS, () => socket.destroy());
  socket.write(bytes, () => {
    if (ending === 'end') socket.end();
    // After the bytes are out, so that the service has begun to read them.
    else setTimeout(() => socket.destroy(), 20);
  });
  return new Promise((resolve) => socket.on('close', () => resolve()));
}

type Asked = { readonly headers: Record<string, string>; readonly body: unknown };
export type SlowAnswer = { readonly status: number; readonly body: Record<string, unknown> };

/**
 * Sends the head with the first half of the body, because a caller's rights may change before the other half;
 * `body` is text or becomes JSON. Returns a function that sends the rest, and returns the answer.
 */
export async function beginSlowly(
  node: Addressed,
  methodAndPath: string,
  { headers, body }: Asked,
): Promise<() => Promise<SlowAnswer>> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  // What a page of the service sends names its host.
  const host = { host: new URL(node.url).host, connection: 'close' };
  const all = { ...host, 'content-length': String(Buffer.byteLength(text)), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  const half = Math.ceil(text.length / 2);
  const head = [`${methodAndPath} HTTP/1.1`, ...lines, '', ''].join('\r\n');
  const client = beginDialogue(node, []);
  await new Promise((resolve) => client.socket.write(head + text.slice(0, half), resolve));
  return async () => {
    client.socket.write(text.slice(half));
    const [answer] = await client.answers(1);
    client.socket.destroy();
    return { status: answer?.status ?? 0, body: JSON.parse(answer?.text ?? '') };
  };
}

/** Returns the answers that are whole. */
function readAnswers(received: Buffer): RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let rest = received; ; ) {
    const end = rest.indexOf('\r\n\r\n');
    if (end === -1) return answers;
    const [statusLine = '', ...lines] = rest.subarray(0, end).toString('latin1').split('\r\n');
    const headers = new Map(lines.map(readHeader));
    const bodyEnd = end + 4 + Number(headers.get('content-length') ?? 0);
    if (rest.length < bodyEnd) return answers;
    const text = rest.subarray(end + 4, bodyEnd).toString('utf8');
    answers.push({ status: Number(statusLine.split(' ')[1]), headers, text });
    rest = rest.subarray(bodyEnd);
  }
}

function readHeader(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}
