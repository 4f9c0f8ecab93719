// Tests the load generator against a real server: what it counts is what happened.

import type { RequestListener } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { LatencyHistogram } from '../../bench/load/latency-histogram.ts';
import type { LoadOptions, LoadRun } from '../../bench/load/load-run.ts';
import { deviceId } from '../../bench/load/question.ts';
import { runLoad } from '../../bench/load/run-load.ts';
import { loopbackServer } from './loopback-server.ts';

let close: (() => void) | undefined;
afterEach(() => close?.());

async function serve(listener: RequestListener): Promise<LoadOptions> {
  const server = await loopbackServer(listener);
  close = server.close;
  return {
    host: '127.0.0.1',
    port: server.port,
    question: { paths: ['/u/a/stable/linux/x86_64/1.0.0'], devices: 64 },
    connections: 4,
    pipelining: 1,
    seconds: 0.3,
    warmupSeconds: 0,
  };
}

describe('a load run', () => {
  it('counts exactly the requests that the server answered', async () => {
    let asked = 0;
    const options = await serve((_, response) => {
      asked += 1;
      response.end('hello');
    });
    const result = await runLoad({ ...options, requestsMax: 500, seconds: 20 });
    expect(result.errors).toEqual({});
    expect(result.sent).toBe(asked);
    expect(result.statuses['200']).toBe(result.responses);
    expect(asked - result.responses).toBeLessThanOrEqual(4);
  });

  it('asks once for each device when it may ask as often as there are devices', async () => {
    const asked = new Map<string, number>();
    const options = await serve((request, response) => {
      const device = String(request.headers['x-service-device']);
      asked.set(device, (asked.get(device) ?? 0) + 1);
      // Every fourth connection waits for its answers: its devices are d, d + 4, d + 8 …
      setTimeout(() => response.end('hello'), slow.has(device) ? 30 : 0);
    });
    const slow = new Set(Array.from({ length: 16 }, (_, turn) => deviceId(turn * 4)));
    await runLoad({ ...options, requestsMax: 64, seconds: 20 });
    expect(asked.size).toBe(64);
    expect(Math.max(...asked.values())).toBe(1);
  });

  it('tells of a generator that never sleeps how long it had something to do', async () => {
    const options = await serve((_, response) => {
      setTimeout(() => response.end('hello'), 50);
    });
    const result = await runLoad({ ...options, isAwake: true });
    expect(result.responses).toBeGreaterThan(0);
    expect(result.busyMs).toBeGreaterThan(0);
    // Four answers every 50 ms: it waited nearly all the time.
    expect(result.busyMs).toBeLessThan(0.7 * result.seconds * 1000);
    expect(await runLoad(options)).not.toHaveProperty('busyMs');
  });

  it('keeps a fixed rate in the open loop', async () => {
    const options = await serve((_, response) => response.end('hello'));
    const result = await runLoad({ ...options, rate: 200, seconds: 1 });
    // On a busy machine the generator is kept from running now and then, which counts as lost time.
    const due = 200 * (result.seconds - result.lostMs / 1000);
    expect(result.responses).toBeGreaterThan(0.5 * due);
    expect(result.responses).toBeLessThanOrEqual(205);
  });

  it('counts no time in the open loop in which it did not run itself', async () => {
    const options = await serve((_, response) => response.end('hello'));
    const stall = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
    setTimeout(stall, 300);
    const result = await runLoad({ ...options, rate: 200, seconds: 1 });
    expect(result.lostMs).toBeGreaterThanOrEqual(390);
    // Requests that would have been due meanwhile are not sent afterwards, all at once.
    expect(result.responses).toBeLessThanOrEqual(130);
    expect(result.errors).toEqual({});
  });

  it('counts a stall for every request that it kept waiting in the open loop', async () => {
    let load: LoadRun | undefined;
    let asked = 0;
    const options = await serve((_, response) => {
      asked += 1;
      if (asked > 1) return void response.end('hello');
      const begin = performance.now();
      // Measured by the generator's own clock, which stops while a busy machine keeps it from running.
      const lookAgain = setInterval(() => {
        if (performance.now() - begin - (load?.lostMs ?? 0) < 600) return;
        clearInterval(lookAgain);
        response.end('hello');
      }, 5);
    });
    const open = { ...options, connections: 1, rate: 100, seconds: 20, requestsMax: 100 };
    const result = await runLoad(open, (run) => {
      load = run;
    });
    // 60 requests were due while one was not answered: the closed loop would count one slow answer.
    const latency = new LatencyHistogram(result.latency);
    expect(latency.percentileUs(1 - 25 / result.responses)).toBeGreaterThan(100_000);
  });

  it('counts answers by status and goes on after closed connections', async () => {
    let asked = 0;
    const options = await serve((_, response) => {
      asked += 1;
      if (asked % 10 === 0) return void response.destroy();
      response.statusCode = asked % 2 === 0 ? 204 : 404;
      response.end();
    });
    const result = await runLoad({ ...options, seconds: 1 });
    expect(Object.keys(result.statuses)).toEqual(['204', '404']);
    expect(result.errors['connection closed']).toBeGreaterThan(0);
    expect(result.responses).toBeGreaterThan(10);
  });

  it('pipelines', async () => {
    const options = await serve((_, response) => response.end('hello'));
    const result = await runLoad({ ...options, pipelining: 8, requestsMax: 400, seconds: 20 });
    expect(result.errors).toEqual({});
    expect(result.responses).toBeGreaterThanOrEqual(360);
  });

  it('counts a server that is not there', async () => {
    const options = await serve((_, response) => response.end());
    close?.();
    const result = await runLoad(options);
    expect(result.responses).toBe(0);
    expect(Object.keys(result.errors)).toContain('ECONNREFUSED');
  });
});
