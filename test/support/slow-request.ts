// Request whose body arrives in two parts, because a caller's rights may change between them.

import { once } from 'node:events';
import { dial, type RawAnswer, readAnswers } from './raw-exchange.ts';

type Asked = { readonly headers: Record<string, string>; readonly body: unknown };
export type SlowAnswer = { readonly status: number; readonly body: Record<string, unknown> };

/**
 * Sends the head with the first half of the body over a new connection; `body` is text or becomes JSON.
 * Returns a function that sends the rest, and returns the answer.
 */
export async function beginSlowly(
  node: { readonly url: string },
  methodAndPath: string,
  { headers, body }: Asked,
): Promise<() => Promise<SlowAnswer>> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const host = { host: new URL(node.url).host, connection: 'close' };
  const all = { ...host, 'content-length': String(Buffer.byteLength(text)), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  const half = Math.ceil(text.length / 2);
  const socket = dial(node);
  await once(socket, 'connect');
  let received = Buffer.alloc(0);
  // An answer may come before the rest is sent.
  const answered = new Promise<RawAnswer>((resolve, reject) => {
    socket.on('data', (data: Buffer) => {
      received = Buffer.concat([received, data]);
      const [answer] = readAnswers(received);
      if (answer !== undefined) resolve(answer);
    });
    socket.once('error', reject);
    socket.once('close', () => reject(new Error(`closed without an answer: ${received}`)));
  });
  answered.catch(() => undefined);
  const head = [`${methodAndPath} HTTP/1.1`, ...lines, '', ''].join('\r\n');
  await new Promise((resolve) => socket.write(head + text.slice(0, half), resolve));
  return async () => {
    socket.write(text.slice(half));
    const { status, text: told } = await answered;
    socket.destroy();
    return { status, body: JSON.parse(told) };
  };
}
