// Tests the load generator's reader of answers: its short cuts must not miscount.

import { describe, expect, it } from 'vitest';
import {
  MalformedResponse,
  ResponseReader,
  ResponseShapes,
} from '../../bench/load/response-reader.ts';

const FULL = 'HTTP/1.1 200 OK\r\nuWebSockets: 20\r\nContent-Length: 5\r\n\r\nhello';
const EMPTY = 'HTTP/1.1 204 No Content\r\nCache-Control: no-store\r\n\r\n';
const LONGER = 'HTTP/1.1 200 OK\r\nuWebSockets: 20\r\nContent-Length: 7\r\n\r\nhelloHT';

function read(chunks: readonly string[]): number[] {
  const statuses: number[] = [];
  const reader = new ResponseReader(new ResponseShapes(), (status) => statuses.push(status));
  for (const chunk of chunks) {
    const bytes = Buffer.from(`${chunk}beyond the end`);
    reader.take(bytes, chunk.length);
  }
  return statuses;
}

describe('the reader of answers', () => {
  it('recognises an answer it has seen, and learns one it has not', () => {
    expect(read([FULL, FULL, EMPTY, FULL, EMPTY])).toEqual([200, 200, 204, 200, 204]);
  });

  it('reads answers wherever they are cut in two', () => {
    const text = FULL + EMPTY + LONGER + FULL;
    for (let cut = 1; cut < text.length; cut++) {
      expect(read([FULL, text.slice(0, cut), text.slice(cut)])).toEqual([200, 200, 204, 200, 200]);
    }
  });

  it('reads answers that come byte by byte', () => {
    expect(read([...(FULL + EMPTY + LONGER)])).toEqual([200, 204, 200]);
  });

  it('reads several answers of different lengths from one chunk', () => {
    expect(read([FULL, FULL + FULL + LONGER + FULL + EMPTY])).toEqual([
      200, 200, 200, 200, 200, 204,
    ]);
  });

  it('does not take a longer answer for the shorter one it knows', () => {
    const [head = '', body = ''] = LONGER.split('\r\n\r\n');
    expect(read([FULL, `${head}\r\n\r\n${body.slice(0, 5)}`, body.slice(5), FULL])).toEqual([
      200, 200, 200,
    ]);
  });

  it('tells that an answer is its connection’s last', () => {
    const reader = new ResponseReader(new ResponseShapes(), () => undefined);
    const last = FULL.replace('\r\nContent', '\r\nConnection: close\r\nContent');
    reader.take(Buffer.from(last), last.length);
    expect(reader.closes).toBe(true);
  });

  it('refuses what is no HTTP answer, and one without a length', () => {
    expect(() => read(['SSH-2.0-OpenSSH\r\n\r\n'])).toThrow(MalformedResponse);
    expect(() => read(['HTTP/1.1 200 OK\r\n\r\n'])).toThrow(MalformedResponse);
    expect(() => read(['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'])).toThrow(
      MalformedResponse,
    );
  });
});
