// Tests the load generator: what it asks, how it reads answers, and that it counts what happened.

import type { RequestListener, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { differingShare, type FixedAnswer } from '../../bench/load/ask.ts';
import { LatencyHistogram } from '../../bench/load/latency-histogram.ts';
import type { LoadOptions, LoadRun } from '../../bench/load/load-connection.ts';
import { deviceId, nthRequest, RequestWriter } from '../../bench/load/question.ts';
import {
  MalformedResponse,
  ResponseReader,
  ResponseShapes,
} from '../../bench/load/response-reader.ts';
import { runLoad } from '../../bench/load/run-load.ts';
import { reportOf } from '../../bench/suite/load-target.ts';
import { loopbackServer } from '../support/loopback-server.ts';
import { own } from '../support/own.ts';

describe('requests of the load generator', () => {
  const QUESTION = { paths: ['/u/a/stable/linux/x86_64/1.0.0'], devices: 1000 };
  const written = (writer: RequestWriter, count: number, first = 0) =>
    Array.from({ length: count }, (_, index) => writer.write(first + index).toString());
  const REQUEST = /^GET (\S+) HTTP.1.1\r\nHost: host\r\nX-Service-Device: (\S+)\r\n\r\n$/;

  it('ask for every device once before any comes again, always on the same path', () => {
    const paths = Array.from({ length: 10 }, (_, index) => `/u/a/b/c/d/1?l.ring=${index}`);
    const byDevice = new Map<string, string>();
    const writers = paths.map((_, connection) => {
      return new RequestWriter({ ...QUESTION, paths }, 'host', { connection, connections: 10 });
    });
    for (let request = 0; request < 2000; request++) {
      const writer = writers[request % 10] as RequestWriter;
      const [, path = '', device = ''] = REQUEST.exec(writer.write(request).toString()) ?? [];
      expect(byDevice.get(device)).toBe(request < 1000 ? undefined : path);
      byDevice.set(device, path);
    }
    expect(byDevice.size).toBe(1000);
    // A later run goes on in the fleet where an earlier one ended.
    const place = { connection: 3, connections: 10 };
    const [before] = written(new RequestWriter(QUESTION, 'host', place), 43).slice(42);
    expect(written(new RequestWriter(QUESTION, 'host', place, 420), 1)).toEqual([before]);
  });

  it('never ask for the same fresh version twice, nor for another length', () => {
    const question = { paths: ['/u/a/stable/linux/x86_64/{version}'], devices: 10 };
    const writer = new RequestWriter(question, 'host', { connection: 0, connections: 1 });
    const paths = written(writer, 1000, 95_000).map((request) => request.split(' ')[1]);
    const lengths = new Set(paths.map((path) => path?.length));
    expect([new Set(paths).size, lengths.size]).toEqual([1000, 1]);
    expect(paths[7]).toBe(nthRequest(question, 95_007).path);
  });

  it('have the device in the path, and a body, where the question says so', () => {
    const question = {
      ...{ paths: ['/ddi/a/{device}/feedback'], devices: 10 },
      sent: { method: 'POST', body: '{"é":1}' },
    } as const;
    const writer = new RequestWriter(question, 'host', { connection: 3, connections: 10 });
    const { path } = nthRequest(question, 3);
    expect(path).toBe(`/ddi/a/${deviceId(3)}/feedback`);
    const [request] = written(writer, 1);
    expect(request).toBe(`POST ${path} HTTP/1.1\r\nHost: host\r\nContent-Length: 8\r\n\r\n{"é":1}`);
  });
});

describe('the reader of answers', () => {
  const FULL = 'HTTP/1.1 200 OK\r\nuWebSockets: 20\r\nContent-Length: 5\r\n\r\nhello';
  const EMPTY = 'HTTP/1.1 204 No Content\r\nCache-Control: no-store\r\n\r\n';
  const LONGER = 'HTTP/1.1 200 OK\r\nuWebSockets: 20\r\nContent-Length: 7\r\n\r\nhelloHT';
  const read = (...chunks: readonly string[]) => {
    const statuses: number[] = [];
    const reader = new ResponseReader(new ResponseShapes(), (status) => statuses.push(status));
    for (const chunk of chunks) reader.take(Buffer.from(`${chunk}beyond the end`), chunk.length);
    return statuses;
  };

  it('recognises answers it has seen, learns others, and reads them wherever they are cut', () => {
    expect(read(FULL, FULL, EMPTY, FULL, EMPTY)).toEqual([200, 200, 204, 200, 204]);
    expect(read(FULL, FULL + LONGER + FULL + EMPTY)).toEqual([200, 200, 200, 200, 204]);
    expect(read(FULL, LONGER.slice(0, -2), LONGER.slice(-2), FULL)).toEqual([200, 200, 200]);
    const text = FULL + EMPTY + LONGER + FULL;
    for (let cut = 1; cut < text.length; cut++) {
      expect(read(FULL, text.slice(0, cut), text.slice(cut))).toEqual([200, 200, 204, 200, 200]);
    }
    expect(read(...text)).toEqual([200, 204, 200, 200]);
  });

  it('tells that an answer is its connection’s last, and refuses what is none', () => {
    const reader = new ResponseReader(new ResponseShapes(), () => undefined);
    const last = FULL.replace('\r\nContent', '\r\nConnection: close\r\nContent');
    reader.take(Buffer.from(last), last.length);
    expect(reader.closes).toBe(true);
    for (const text of ['SSH-2.0\r\n\r\n', 'HTTP/1.1 200 OK\r\n\r\n']) {
      expect(() => read(text)).toThrow(MalformedResponse);
    }
  });
});

it('a latency histogram knows each percentile to one percent, also sent as plain counts', () => {
  const histogram = new LatencyHistogram();
  const values = Array.from({ length: 20_000 }, (_, index) => 0.01 * 1.0006 ** index);
  for (const value of values) histogram.record(value);
  const copy = new LatencyHistogram([...histogram.counts]);
  for (const share of [0.01, 0.5, 0.9, 0.99, 0.999, 1]) {
    const exactUs = (values[Math.ceil(values.length * share) - 1] ?? 0) * 1000;
    expect(Math.abs(copy.percentileUs(share) / exactUs - 1)).toBeLessThan(0.01);
  }
});

describe('a load run', () => {
  async function serve(listener: RequestListener): Promise<LoadOptions> {
    const { port } = own(await loopbackServer(listener));
    return {
      ...{ host: '127.0.0.1', port, connections: 4, seconds: 0.3, warmupSeconds: 0 },
      question: { paths: ['/u/a/stable/linux/x86_64/1.0.0'], devices: 64 },
    };
  }

  it('asks once for each device when it may ask as often as there are devices, and counts that', async () => {
    const asked = new Map<string, number>();
    // Every fourth connection waits for its answers, for the last one until the generator has looked twice.
    const slow = new Map(
      Array.from({ length: 16 }, (_, turn) => [deviceId(turn * 4), turn === 15 ? 250 : 30]),
    );
    const options = await serve((request, response) => {
      const device = String(request.headers['x-service-device']);
      asked.set(device, (asked.get(device) ?? 0) + 1);
      setTimeout(() => response.end('hello'), slow.get(device) ?? 0);
    });
    const result = await runLoad({ ...options, requestsMax: 64, seconds: 20 });
    expect(result.errors).toEqual({});
    expect([asked.size, Math.max(...asked.values())]).toEqual([64, 1]);
    expect(result).toMatchObject({ sent: 64, responses: 64, statuses: { 200: 64 } });
  });

  it('sends no more than a fixed rate in the open loop, and nothing for time in which it did not run', async () => {
    const options = await serve((_, response) => response.end('hello'));
    const stall = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
    setTimeout(stall, 300);
    const result = await runLoad({ ...options, rate: 200, seconds: 1 });
    expect(result.lostMs).toBeGreaterThanOrEqual(390);
    expect(result.responses).toBeGreaterThan(0);
    expect(result.responses).toBeLessThanOrEqual(200 * (result.seconds - result.lostMs / 1000) + 5);
    expect(result.errors).toEqual({});
  });

  it('counts a stall for every request that it kept waiting in the open loop', async () => {
    let load: LoadRun | undefined;
    let asked = 0;
    const options = await serve((_, response) => {
      asked += 1;
      if (asked > 1) return void response.end('hello');
      const begin = performance.now();
      // By the generator's own clock, which stops while a busy machine keeps it from running.
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
    // Many requests were due while one was not answered: the closed loop would count one slow answer.
    const latency = new LatencyHistogram(result.latency);
    expect(latency.percentileUs(1 - 4 / result.responses)).toBeGreaterThan(50_000);
  });

  it('keeps connections that ask now and then, and counts those that end without a word', async () => {
    const devices = new Set<unknown>();
    const options = await serve(({ headers }, response) => {
      devices.add(headers['x-service-device']);
      const { socket } = response;
      response.end('hello', () => devices.size === 20 && socket?.end());
    });
    const question = { ...options.question, devices: 20 };
    const kept = { ...options, connections: 20, gapMs: [50, 100] as const, seconds: 1 };
    const { errors, responses } = await runLoad({ ...kept, question });
    expect(devices.size).toBe(20);
    expect(responses).toBeGreaterThanOrEqual(20);
    expect(errors['connection closed']).toBeGreaterThan(0);
    const away = await runLoad({ ...options, port: 1 });
    expect([away.responses, Object.keys(away.errors)]).toEqual([0, ['ECONNREFUSED']]);
  });

  it.each<[what: string, share: number, end: (response: ServerResponse) => void]>([
    ['every end of which it is told', 20, (response) => response.setHeader('Connection', 'close')],
    [
      'every end without a word',
      20,
      (response) => response.on('finish', () => response.req.socket.end()),
    ],
    ['no end where none is', Number.POSITIVE_INFINITY, () => undefined],
  ])('counts %s', async (_, share, end) => {
    let asked = 0;
    const options = await serve((_, response) => {
      asked += 1;
      if (asked % share === 0) end(response);
      response.writeHead(204).end();
    });
    const result = await runLoad({ ...options, requestsMax: 100, seconds: 20 });
    const most = Math.floor(asked / share);
    // The last one may come when the run is over.
    expect(result.ended).toBeGreaterThanOrEqual(most === 0 ? 0 : Math.max(1, most - 1));
    expect(result.ended).toBeLessThanOrEqual(most);
    const failures = most === 0 ? [] : [`the service ended ${result.ended} connections`];
    expect(reportOf(200, result).failures).toEqual(failures);
    // Nor its own.
    const once = { requestsMax: 15, seconds: 20, isOneRequest: true };
    asked = 0;
    expect((await runLoad({ ...options, ...once })).ended).toBe(0);
  });
});

it('the answers of two services are compared whatever their order and their times', () => {
  const offer = (version: string, time = '2026-01-01T00:00:00.000Z'): FixedAnswer => ({
    ...{ status: 200, headers: [], body: `{"version":"${version}","pub_date":"${time}"}` },
  });
  const [one, two] = [offer('1.0.0'), offer('2.0.0')];
  const nothing: FixedAnswer = { status: 204, headers: [], body: '' };
  const later = [nothing, two, offer('1.0.0', '2026-06-30T12:34:56Z')];
  expect(differingShare([one, two, nothing], later)).toBe(0);
  for (const other of [nothing, two, { ...one, headers: [['a', 'b']] as const }]) {
    expect(differingShare([one, one, one, one], [one, one, one, other])).toBe(0.25);
  }
  expect(differingShare([one, one, one, two], [one, two, two, two])).toBe(0.5);
});
