// Tests the holding of connections against a real server: they stay open, ask again and again, and what goes
// wrong is counted.

import type { RequestListener } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { type HoldOptions, holdConnections } from '../../bench/load/hold-connections.ts';
import { loopbackServer } from './loopback-server.ts';

let close: (() => void) | undefined;
afterEach(() => close?.());

async function serve(listener: RequestListener) {
  const server = await loopbackServer(listener);
  close = server.close;
  const options: HoldOptions = {
    port: server.port,
    servicePid: process.pid,
    question: { paths: ['/u/a/stable/linux/x86_64/1.0.0'], devices: 64 },
    connections: 20,
    expected: 200,
    gapMs: [50, 100],
    seconds: 0.5,
  };
  return { options, opened: server.opened };
}

describe('held connections', () => {
  it('stay open and ask once in each gap', async () => {
    const devices = new Set<unknown>();
    const { options, opened } = await serve(({ headers }, response) => {
      devices.add(headers['x-service-device']);
      response.end('hello');
    });
    const result = await holdConnections(options);
    expect(result.errors).toEqual({});
    expect([result.open, opened(), devices.size]).toEqual([20, 20, 20]);
    // 20 connections for 500 ms with gaps of 50 to 100 ms: 100 to 200, fewer on a busy machine.
    expect(result.answers).toBeGreaterThan(20);
    expect(result.answers).toBeLessThan(260);
  });

  it('are errors when they end, and when the status is another', async () => {
    let asked = 0;
    const { options } = await serve((_, response) => {
      asked += 1;
      response.statusCode = asked === 1 ? 503 : 200;
      if (asked === 2) response.setHeader('connection', 'close');
      response.end('hello');
    });
    const { open, errors } = await holdConnections(options);
    expect([open, errors]).toEqual([19, { 'status 503': 1, 'connection closed': 1 }]);
  });
});
