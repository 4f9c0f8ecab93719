// Requests byte by byte, on a connection of their own: for what no HTTP client would send.

import { connect, type Socket } from 'node:net';

export type RawAnswer = {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
};
type Addressed = { readonly url: string };

const TIMEOUT_MS = 60_000;
const PATIENCE_MS = 2000;

/** Returns a request's head, by its method and path and further header lines. */
export function requestHead(methodAndPath: string, ...lines: string[]): string {
  return [`${methodAndPath} HTTP/1.1`, 'Host: sluice.test', ...lines, '', ''].join('\r\n');
}

/**
 * Sends bytes on a connection of its own; resolves as soon as the answer is whole. A `next` request is sent
 * after the first answer, and both answers are returned.
 */
export function exchangeRaw(
  node: Addressed,
  parts: readonly (string | Buffer)[],
  next?: string,
): Promise<RawAnswer[]> {
  const count = next === undefined ? 1 : 2;
  return new Promise((resolve, reject) => {
    const socket = dial(node);
    let received = Buffer.alloc(0);
    const finish = (reason: string): void => {
      socket.destroy();
      const answers = readAnswers(received);
      if (answers.length >= count) resolve(answers);
      else reject(new Error(`${reason} after ${JSON.stringify(received.toString('latin1'))}`));
    };
    socket.setTimeout(TIMEOUT_MS, () => finish('No whole answer in time'));
    socket.on('data', (chunk: Buffer) => {
      const before = readAnswers(received).length;
      received = Buffer.concat([received, chunk]);
      const { length } = readAnswers(received);
      if (length >= count) finish('');
      else if (before === 0 && length > 0 && next !== undefined) socket.write(next);
    });
    socket.on('error', (error) => finish(error.message));
    socket.on('close', () => finish('Closed'));
    for (const part of parts) socket.write(part);
  });
}

/** Sends bytes and leaves, by ending or by destroying the connection; resolves when it is gone. */
export function abandon(
  node: Addressed,
  bytes: string | Buffer,
  ending: 'destroy' | 'end',
): Promise<void> {
  return new Promise((resolve) => {
    const socket = dial(node);
    // The service may answer, close or reset: all are allowed here.
    socket.on('error', () => undefined);
    socket.on('close', () => resolve());
    socket.on('data', () => undefined);
    socket.setTimeout(PATIENCE_MS, () => socket.destroy());
    socket.write(bytes, () => {
      if (ending === 'end') socket.end();
      // After the bytes are out, so that the service has begun to read them.
      else setTimeout(() => socket.destroy(), 20);
    });
  });
}

/** Opens a connection that collects how every answer begins, and breaks off without an error. */
export function openFlood(
  node: Addressed,
  bytes: readonly (string | Buffer)[],
  told: string[],
): Socket {
  const socket = dial(node);
  socket.on('data', (data) => told.push(data.toString().slice(0, 12)));
  socket.on('error', () => undefined);
  for (const part of bytes) socket.write(part);
  return socket;
}

/** Opens a connection to a node. */
export function dial({ url }: Addressed): Socket {
  const { hostname, port } = new URL(url);
  return connect({ host: hostname, port: Number(port) });
}

/** Returns the answers that are whole. */
export function readAnswers(received: Buffer): RawAnswer[] {
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
