// Tests the deadline of request bodies on a server of this process, whose clock the test moves: however
// steadily a client sends, its body ends or is refused.

import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { isFailure } from '../../src/contract/failure.ts';
import { failureReply, jsonReply } from '../../src/http/transport/reply.ts';
import type { Route } from '../../src/http/transport/router.ts';
import type { Server } from '../../src/http/transport/server.ts';
import { httpEngines, serveOn } from '../support/http-engines.ts';
import { Dialogue } from '../support/raw-exchange.ts';

const DEADLINE_MS = 60_000;

/** Waits for what a connection brings; the test's own time-out ends it otherwise. */
async function until(check: () => boolean): Promise<void> {
  while (!check()) await pause(1);
}

describe.each(await httpEngines())('on %s', (_, engine) => {
  let server: Server;
  /** Number of requests whose body is awaited, or was. */
  let begun = 0;
  beforeAll(async () => {
    const slow: Route = {
      ...{ method: 'POST', path: '/slow', bodyMsMax: DEADLINE_MS },
      handler: async ({ body }) => {
        begun += 1;
        const received = await body;
        if (isFailure(received)) return failureReply(received);
        return jsonReply(200, { bytes: received.length });
      },
    };
    server = await serveOn(engine, [slow]);
  });
  afterAll(() => server?.close());
  beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => vi.useRealTimers());

  it('a body that never ends is 408 at its deadline, though it never pauses, and the connection ends', async () => {
    const client = await begin(1_000_000);
    for (let sent = 0; sent < 10; sent++) {
      client.socket.write('x'.repeat(200));
      vi.advanceTimersByTime(DEADLINE_MS / 10 - 1);
    }
    // What was sent is here once another connection is answered.
    const other = await begin(1);
    other.socket.write('x');
    await until(() => other.text.includes('{"bytes":1}'));
    expect([client.text, client.isClosed]).toEqual(['', false]);
    vi.advanceTimersByTime(10);
    await until(() => client.isClosed);
    expect(client.text).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
    expect(client.text).toContain('{"error":"Request body took too long"}');
    expect(client.text).toMatch(/\r\nConnection: close\r\n/i);
    other.socket.destroy();
  });

  it('a body that is complete before its deadline is taken, and its connection serves on', async () => {
    const client = await begin(4);
    client.socket.write('ab');
    vi.advanceTimersByTime(DEADLINE_MS - 1);
    client.socket.write('cd');
    await until(() => client.text.includes('{"bytes":4}'));
    vi.advanceTimersByTime(2 * DEADLINE_MS);
    client.socket.write('POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx');
    await until(() => client.text.includes('{"bytes":1}'));
    client.socket.destroy();
  });

  /** Opens a connection and sends the head of a request with a body of `bytes`. */
  async function begin(bytes: number) {
    const client = new Dialogue(server.port);
    await once(client.socket, 'connect');
    const count = begun;
    client.socket.write(`POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n\r\n`);
    await until(() => begun > count);
    return client;
  }
});
