// Tests the deadline of request bodies on a server of this process, with short deadlines: however steadily a
// client sends, its body ends or is refused.

import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isFailure } from '../../src/contract/failure.ts';
import { failureReply, jsonReply } from '../../src/http/reply.ts';
import { createRouter } from '../../src/http/router.ts';
import { type Server, startServer } from '../../src/http/server.ts';
import { Traffic } from '../../src/http/traffic.ts';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { eventually, sleep } from '../support/eventually.ts';

const DEADLINE_MS = 400;

let server: Server;
beforeAll(async () => {
  const router = createRouter(
    [
      {
        method: 'POST',
        path: '/slow',
        bodyMsMax: DEADLINE_MS,
        handler: async ({ body }) => {
          const received = await body;
          return isFailure(received)
            ? failureReply(received)
            : jsonReply(200, { bytes: received.length });
        },
      },
    ],
    new Traffic(createLog('silent'), new Metrics()),
  );
  server = await startServer({
    host: '127.0.0.1',
    port: 0,
    isPortShared: false,
    direct: {},
    router,
  });
});
afterAll(() => server?.close());

/** Opens a connection and sends the head of a request with a body of `bytes`. */
async function begin(bytes: number) {
  const socket = connect(server.port, '127.0.0.1');
  const seen = { answer: '', isClosed: false };
  socket.on('data', (data) => {
    seen.answer += data.toString();
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    seen.isClosed = true;
  });
  await once(socket, 'connect');
  socket.write(`POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n\r\n`);
  return { socket, seen };
}

it('a body that never ends is 408 at its deadline, though it never pauses, and the connection ends', async () => {
  const { socket, seen } = await begin(1_000_000);
  const since = performance.now();
  while (!seen.isClosed && performance.now() - since < 10_000) {
    socket.write('x'.repeat(200));
    await sleep(10);
  }
  expect(seen.answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
  expect(seen.answer).toContain('{"error":"Request body took too long"}');
  expect(seen.answer).toMatch(/\r\nConnection: close\r\n/i);
  expect(performance.now() - since).toBeGreaterThanOrEqual(DEADLINE_MS * 0.9);
});

it('a body that is complete before its deadline is taken, and its connection serves on', async () => {
  const { socket, seen } = await begin(4);
  socket.write('ab');
  await sleep(DEADLINE_MS / 4);
  socket.write('cd');
  await eventually('an answer', () => seen.answer.includes('{"bytes":4}'));
  await sleep(DEADLINE_MS * 1.5);
  socket.write('POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx');
  await eventually('another answer', () => seen.answer.includes('{"bytes":1}'));
  socket.destroy();
});
