// Tests that connections end whose clients do not read their answers, and no others, on both HTTP engines.

import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RequestHandler } from '../../src/http/transport/http-app.ts';
import { type Reply, replyHead } from '../../src/http/transport/reply.ts';
import type { Server } from '../../src/http/transport/server.ts';
import { writeReply } from '../../src/http/transport/write-reply.ts';
import { eventually } from '../support/eventually.ts';
import { httpEngines, serveOn } from '../support/http-engines.ts';

const NO_CONTENT: Reply = { status: 204, head: replyHead(204, [['Cache-Control', 'no-store']]) };
const NOT_MODIFIED: Reply = { status: 304, headers: [['ETag', '"a"']] };
const OFFER: Reply = { status: 200, body: 'x'.repeat(700) };
const REPLIES: Readonly<Record<string, Reply>> = {
  '/u/nothing': NO_CONTENT,
  '/u/known': NOT_MODIFIED,
  '/u/offer': OFFER,
};
/** Answers without a body, with the request for each. */
const KINDS = [
  ['204', 'GET /u/nothing'],
  ['304', 'GET /u/known'],
  ['answers to HEAD', 'HEAD /u/offer'],
] as const;
const CONNECTIONS = 4;
/** Answers on each connection: 16,000 in all, of which two ended theirs when one in 6,000 did. */
const ANSWERS = 4000;
/** Requests at a time of a client that reads nothing: fewer than a turn of the event loop bounds. */
const DRIP = 10;
/** Bytes of its requests after which it was to be cut off: several times what both sides' systems hold. */
const BYTES_MAX = 30_000_000;
/** Turns of the event loop in which requests are served that arrive. */
const TURNS_MAX = 100;

const requestOf = (line: string) => `${line} HTTP/1.1\r\nHost: sluice\r\n\r\n`;

/** Asks on a connection, so many at a time, until it has so many answers or is closed; returns how many. */
function ask(port: number, line: string, atOnce: number): Promise<number> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const text = requestOf(line).repeat(atOnce);
    let [answers, awaited, end] = [0, atOnce, ''];
    socket.on('data', (chunk) => {
      const read = end + chunk.toString('latin1');
      const parts = read.split('\r\n\r\n');
      answers += parts.length - 1;
      end = parts.at(-1) ?? '';
      if (answers >= ANSWERS) socket.destroy();
      else if (answers === awaited) {
        awaited += atOnce;
        socket.write(text);
      }
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(answers));
    socket.write(text);
  });
}

async function openUnread(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.pause();
  socket.on('error', () => undefined);
  await eventually('a connection', () => socket.readyState === 'open');
  return socket;
}

describe.each(await httpEngines())('on %s', (_, engine) => {
  let server: Server;
  let served = 0;
  const answering = (isHead: boolean): RequestHandler => {
    return (res, req) => {
      served += 1;
      writeReply(res, REPLIES[req.getUrl()] as Reply, isHead, false);
    };
  };
  beforeAll(async () => {
    const direct = { '/u': { get: answering(false), head: answering(true) } };
    server = await serveOn(engine, [], { direct });
  });
  afterAll(() => server?.close());

  it('204 end no connection that reads them', async () => {
    const asking = Array.from({ length: CONNECTIONS }, () =>
      ask(server.port, 'GET /u/nothing', 16),
    );
    for (const answers of await Promise.all(asking)) {
      expect(answers).toBeGreaterThanOrEqual(ANSWERS);
    }
  });

  it.each([...KINDS, ['offers', 'GET /u/offer']] as const)(
    '%s end a connection whose client reads none of them',
    async (_, line) => {
      const socket = await openUnread(server.port);
      const text = requestOf(line).repeat(DRIP);
      while (!socket.closed && socket.bytesWritten < BYTES_MAX) {
        const wanted = served + DRIP;
        socket.write(text);
        // A client that does not read learns from its next request only that it was cut off.
        for (let turn = 0; turn < TURNS_MAX && served < wanted; turn++) await nextTurn();
      }
      await eventually('it is closed', () => socket.closed);
    },
  );
});
