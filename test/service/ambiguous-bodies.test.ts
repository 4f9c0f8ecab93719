// Tests requests whose body two readers could see end at different places (docs/contract.md 7.4): each is
// refused and ends its connection, and what follows is never read as a request.

import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { sharedNode } from '../support/service-suite.ts';

const node = sharedNode();

/** One address of every door that reads bodies, or answers through the router. */
const DOORS = [
  'POST /api/v1/releases',
  'POST /console/api/session',
  'POST /u/any/stable/linux/x86_64/1.0.0/failure',
  'POST /wh/github/any',
  'POST /edge/v1/failures',
  'GET /feed/any/stable',
  'GET /healthz',
  'GET /nothing',
];

const NEXT = 'GET /healthz HTTP/1.1\r\nHost: sluice\r\n\r\n';
const AMBIGUOUS: readonly (readonly [string, readonly string[], string])[] = [
  ['two lengths', ['Content-Length: 4', `Content-Length: ${4 + NEXT.length}`], `null${NEXT}`],
  ['two equal lengths', ['Content-Length: 4', 'Content-Length: 4'], `null${NEXT}`],
  ['an empty length', ['Content-Length:'], NEXT],
  ['an unknown coding', ['Transfer-Encoding: xchunked'], `4\r\nnull\r\n0\r\n\r\n${NEXT}`],
  ['a coding that is none', ['Transfer-Encoding: identity'], `0\r\n\r\n${NEXT}`],
  ['two codings', ['Transfer-Encoding: gzip, chunked'], `0\r\n\r\n${NEXT}`],
  ['a coding twice', ['Transfer-Encoding: x', 'Transfer-Encoding: chunked'], `0\r\n\r\n${NEXT}`],
  ['an empty coding and a length', ['Transfer-Encoding:', 'Content-Length: 4'], `null${NEXT}`],
  ['trailers', ['Transfer-Encoding: chunked', 'Trailer: x'], `0\r\nx: y\r\n\r\n${NEXT}`],
];

/** Sends bytes at once; resolves with all that came when the service has closed the connection. */
function untilClosed(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(node.url).port), '127.0.0.1');
    let text = '';
    socket.setTimeout(3000, () => reject(new Error(`still open after ${JSON.stringify(text)}`)));
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(text));
    socket.write(bytes);
  });
}

describe.each(AMBIGUOUS)('a request with %s', (_, lines, rest) => {
  it.each(DOORS)('is refused by %s', async (door) => {
    const head = [`${door} HTTP/1.1`, 'Host: sluice', ...lines, '', ''].join('\r\n');
    const answers = (await untilClosed(head + rest)).match(/HTTP\/1\.1 \d+/g);
    expect(answers).toEqual(['HTTP/1.1 400']);
  });
});

it('a chunked body is read', async () => {
  const lines = ['Host: sluice', 'Transfer-Encoding: Chunked', 'Connection: close'];
  const head = ['POST /console/api/session HTTP/1.1', ...lines, '', ''].join('\r\n');
  expect(await untilClosed(`${head}4\r\nnull\r\n0\r\n\r\n`)).toContain('body: Expected an object');
});
