// Tests the requests that the load generator writes.

import { describe, expect, it } from 'vitest';
import { deviceId, nthRequest, RequestWriter } from '../../bench/load/question.ts';

const QUESTION = { paths: ['/u/a/stable/linux/x86_64/1.0.0'], devices: 1000 };

function written(writer: RequestWriter, count: number, first = 0): string[] {
  return Array.from({ length: count }, (_, index) => writer.write(first + index).toString());
}

function deviceIn(request: string): string {
  return /X-Service-Device: (\S+)/.exec(request)?.[1] ?? '';
}

describe('requests of the load generator', () => {
  it('ask for every device of the fleet once before any comes again', () => {
    const seen = new Set<string>();
    for (let connection = 0; connection < 10; connection++) {
      const writer = new RequestWriter(QUESTION, 'host', { connection, connections: 10 });
      for (const request of written(writer, 100)) seen.add(deviceIn(request));
    }
    expect(seen.size).toBe(1000);
    expect(seen).toContain(deviceId(999));
  });

  it('go on in the fleet where an earlier run ended', () => {
    const place = { connection: 3, connections: 10 };
    const [before] = written(new RequestWriter(QUESTION, 'host', place), 43).slice(42);
    const [after] = written(new RequestWriter(QUESTION, 'host', place, 420), 1);
    expect(after).toBe(before);
  });

  it('always put the same device on the same path of a list as long as the connections', () => {
    const paths = Array.from({ length: 4 }, (_, index) => `/u/a/b/c/d/1?l.ring=${index}`);
    const byDevice = new Map<string, string>();
    for (let connection = 0; connection < 4; connection++) {
      const place = { connection, connections: 4 };
      const writer = new RequestWriter({ paths, devices: 40 }, 'host', place);
      for (const request of written(writer, 30)) {
        const path = request.split(' ')[1] ?? '';
        expect(byDevice.get(deviceIn(request)) ?? path).toBe(path);
        byDevice.set(deviceIn(request), path);
      }
    }
    expect(byDevice.size).toBe(40);
  });

  it('never ask for the same fresh version twice, nor for another length', () => {
    const question = { paths: ['/u/a/stable/linux/x86_64/{version}'], devices: 10 };
    const writer = new RequestWriter(question, 'host', { connection: 0, connections: 1 });
    const paths = written(writer, 1000, 95_000).map((request) => request.split(' ')[1]);
    expect(new Set(paths).size).toBe(1000);
    expect(new Set(paths.map((path) => path?.length)).size).toBe(1);
    expect(paths[7]).toBe(nthRequest(question, 95_007).path);
  });

  it('are whole HTTP requests', () => {
    const writer = new RequestWriter(QUESTION, 'host:80', { connection: 0, connections: 1 });
    expect(written(writer, 1)).toEqual([
      `GET ${QUESTION.paths[0]} HTTP/1.1\r\nHost: host:80\r\nX-Service-Device: ${deviceId(0)}\r\n\r\n`,
    ]);
  });
});
