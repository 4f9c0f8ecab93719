// Tests what both HTTP engines promise, byte by byte on connections of their own: the same statuses, nothing
// read as a request behind a refusal, also where two readers could see a body end at different places
// (docs/contract.md 7.4), and nothing kept for a client that does not read.

import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isFailure } from '../../../src/contract/failure.ts';
import type { RequestHandler } from '../../../src/http/transport/http-app.ts';
import { failureReply, jsonReply, type Reply } from '../../../src/http/transport/reply.ts';
import type { Route } from '../../../src/http/transport/router.ts';
import { ConnectionLimit, type Server } from '../../../src/http/transport/server.ts';
import { writeReply } from '../../../src/http/transport/write-reply.ts';
import { LabelledCount } from '../../../src/observe/labelled-count.ts';
import { createLog } from '../../../src/observe/log.ts';
import { RareLog } from '../../../src/observe/rare-log.ts';
import { eventually } from '../../support/eventually.ts';
import { onFreePort } from '../../support/free-port.ts';
import { httpEngines, serveOn } from '../../support/http-engines.ts';
import { Dialogue } from '../../support/raw-exchange.ts';

const CONNECTIONS_MAX = 50;
const LARGE = Buffer.alloc(3_000_000, 'x');
const NEXT = 'GET /u/next HTTP/1.1\r\nHost: x\r\n\r\n';

const get = (path: string, ...lines: string[]) =>
  [`GET ${path} HTTP/1.1`, 'Host: x', ...lines, '', ''].join('\r\n');
const post = (body: string, ...lines: string[]) =>
  [`POST /echo HTTP/1.1`, 'Host: x', ...lines, '', body].join('\r\n');
const chunked = 'Transfer-Encoding: chunked';

type Case = readonly [what: string, bytes: string, statuses: readonly number[]];

/** Requests that keep their connection. */
const KEPT: readonly Case[] = [
  ['a GET', get('/u/a'), [200]],
  ['a HEAD', 'HEAD /u/a HTTP/1.1\r\nHost: x\r\n\r\n', [200]],
  ['a HEAD of a large body', 'HEAD /large HTTP/1.1\r\nHost: x\r\n\r\n', [200]],
  ['an unknown path', get('/nothing'), [404]],
  ['a prefix without a slash', get('/u'), [404]],
  ['two slashes', get('//u/a'), [404]],
  ['a method that the path has not', 'DELETE /echo HTTP/1.1\r\nHost: x\r\n\r\n', [405]],
  ['an upgrade', get('/u/a', 'Connection: Upgrade', 'Upgrade: websocket'), [200]],
  ['an unknown expectation', post('null', 'Content-Length: 4', 'Expect: x'), [200]],
  ['a body', post('null', 'Content-Length: 4'), [200]],
  ['a body in chunks', post('4\r\nnull\r\n0\r\n\r\n', 'Transfer-Encoding: Chunked'), [200]],
  ['a POST without a body', post('', 'Content-Length: 0'), [200]],
  ['a POST without a length', post(''), [200]],
  ['a GET with a body', `${get('/u/a', 'Content-Length: 4')}null${NEXT}`, [200, 200]],
  ['requests at once', get('/u/1') + get('/u/2') + get('/u/3'), [200, 200, 200]],
  ['a head of 60 KB', get('/u/a', `X-A: ${'a'.repeat(60_000)}`), [200]],
];

/** Requests that end their connection; none of what follows them is answered. */
const ENDED: readonly Case[] = [
  ['HTTP/1.0', `GET /u/a HTTP/1.0\r\nHost: x\r\n\r\n${NEXT}`, [505]],
  ['a head of 70 KB', get('/u/a', `X-A: ${'a'.repeat(70_000)}`), [431]],
  ['a path of 70 KB', get(`/u/${'a'.repeat(70_000)}`), [431]],
  ['3000 headers', get('/u/a', ...Array.from({ length: 3000 }, (_, n) => `A${n}: 1`)), [431]],
  ['two lengths', post(`null${NEXT}`, 'Content-Length: 4', 'Content-Length: 40'), [400]],
  ['two equal lengths', post(`null${NEXT}`, 'Content-Length: 4', 'Content-Length: 4'), [400]],
  ['an empty length', post(NEXT, 'Content-Length:'), [400]],
  ['a coding that is none', post(`0\r\n\r\n${NEXT}`, 'Transfer-Encoding: identity'), [400]],
  ['a coding twice', post(`0\r\n\r\n${NEXT}`, 'Transfer-Encoding: x', chunked), [400]],
  ['an empty coding', post(`null${NEXT}`, 'Transfer-Encoding:', 'Content-Length: 4'), [400]],
  ['a length and chunks', post(`0\r\n\r\n${NEXT}`, 'Content-Length: 4', chunked), [400]],
  ['chunks and a length', post(`0\r\n\r\n${NEXT}`, chunked, 'Content-Length: 4'), [400]],
  ['an unknown coding', post(`0\r\n\r\n${NEXT}`, 'Transfer-Encoding: gzip, chunked'), [400]],
  ['a negative length', post(`null${NEXT}`, 'Content-Length: -4'), [400]],
  ['a huge length', post('null', 'Content-Length: 99999999999999999999'), [400]],
  ['a chunk without a length', post('zz\r\nnull\r\n', chunked), [400]],
  ['announced trailers', post('0\r\nx: y\r\n\r\n', chunked, 'Trailer: x'), [400]],
  ['a client that closes', get('/u/a', 'Connection: close'), [200]],
  ['a request behind one that waits', get('/waits') + NEXT, []],
  ['half a body and the end', post('nu', 'Content-Length: 4'), []],
];

/** What Node's server refuses and uWebSockets.js answers, reads otherwise, or leaves without an answer. */
const ENDED_BY_NODE: readonly Case[] = [
  ['bytes above ASCII in the path', get('/u/é'), [400]],
  ['an unknown method', `FOO /u/a HTTP/1.1\r\nHost: x\r\n\r\n${NEXT}`, [400]],
  ['CONNECT', `CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n${NEXT}`, [405]],
  ['no Host', `GET /u/a HTTP/1.1\r\n\r\n${NEXT}`, [400]],
  ['a NUL', get('/u/a', 'X-A: a\0b'), [400]],
  ['a header without a name', get('/u/a', ': x'), [400]],
  ['a line that is no request', `hello\r\n\r\n${NEXT}`, [400]],
  ['a fault behind an answer', `${NEXT}hello\r\n\r\n`, [200, 400]],
  ['a request behind the last one', get('/u/a', 'Connection: close') + NEXT, [200]],
];

describe.each(await httpEngines())('on %s', (name, engine) => {
  let server: Server;
  let release: () => void = () => undefined;
  let aborts = 0;
  const connections = new LabelledCount(['accepted', 'refused']);

  beforeAll(async () => {
    const echo: Route['handler'] = async ({ body }) => {
      const received = await body;
      if (isFailure(received)) return failureReply(received);
      return jsonReply(200, { body: received.toString() });
    };
    const waits = () =>
      new Promise<Reply>((resolve) => {
        release = () => resolve(jsonReply(200, 'late'));
      });
    const events: NonNullable<Reply['events']> = (sink) => {
      sink.send('first', 1);
      return () => {
        aborts += 1;
      };
    };
    const routes: Route[] = [
      { method: 'POST', path: '/echo', handler: echo },
      { method: 'GET', path: '/large', handler: () => ({ status: 200, body: LARGE }) },
      { method: 'GET', path: '/waits', handler: waits },
      { method: 'GET', path: '/feed', handler: () => ({ status: 200, events }) },
    ];
    const limits = {
      connectionsMax: CONNECTIONS_MAX,
      connections,
      log: new RareLog(createLog('silent')),
    };
    const get: RequestHandler = (res, req) =>
      writeReply(res, jsonReply(200, req.getUrl()), false, false);
    const head: RequestHandler = (res, req) =>
      writeReply(res, jsonReply(200, req.getUrl()), true, false);
    const connectionLimit = new ConnectionLimit(limits);
    server = await serveOn(engine, routes, { connectionLimit, direct: { '/u': { get, head } } });
  });
  afterAll(() => server?.close());

  const dial = () => new Dialogue(server.port);
  /** Asks on a connection of its own, which is answered. */
  const askOther = async () => {
    const other = dial();
    other.socket.write(NEXT);
    await eventually('an answer', () => other.statuses.length === 1);
    other.socket.destroy();
  };

  it.each(KEPT)('%s is answered, and another request after it', async (_, bytes, statuses) => {
    const client = dial();
    client.socket.write(bytes);
    await eventually('the answers', () => client.statuses.length === statuses.length);
    client.socket.write(NEXT);
    await eventually('the next one', () => client.statuses.length === statuses.length + 1);
    expect(client.statuses).toEqual([...statuses, 200]);
    client.socket.destroy();
  });

  it.each([...ENDED, ...(name === 'node' ? ENDED_BY_NODE : [])])(
    '%s ends the connection',
    async (what, bytes, statuses) => {
      const client = dial();
      client.socket.write(bytes);
      if (what.endsWith('the end')) client.socket.end();
      await eventually('the end', () => client.isClosed);
      const told = client.statuses;
      // Node's server tells why also where its client has ended.
      expect(what.endsWith('the end') ? [] : told).toEqual(statuses);
    },
  );

  it('a client that expects to be told to continue is told', async () => {
    const client = dial();
    client.socket.write(post('', 'Content-Length: 4', 'Expect: 100-continue'));
    await eventually('to continue', () => client.statuses.length === 1);
    client.socket.write('null');
    await eventually('the answer', () => client.statuses.length === 2);
    expect(client.statuses).toEqual([100, 200]);
    client.socket.destroy();
  });

  it('a flood that is not read is cut off, and others are answered', async () => {
    const clients = Array.from({ length: 5 }, dial);
    for (const { socket } of clients) socket.pause();
    const flood = get(`/u/${'a'.repeat(900)}`).repeat(500);
    await eventually('all are cut off', async () => {
      for (const { socket } of clients) if (!socket.destroyed) socket.write(flood);
      await askOther();
      return clients.every(({ socket }) => socket.closed || socket.errored !== null);
    });
  });

  it('a client that leaves in a large body, a wait or a feed harms nobody', async () => {
    for (const path of ['/large', '/waits', '/feed']) {
      const client = dial();
      client.socket.write(get(path));
      if (path !== '/waits') await once(client.socket, 'data');
      client.socket.destroy();
      await askOther();
    }
    release();
    await eventually('the feed is stopped', () => aborts === 1);
  });

  it('a connection above the limit is closed before it is read', async () => {
    const refusedBefore = connections.counts.get('refused') ?? 0;
    const crowd = Array.from({ length: CONNECTIONS_MAX + 10 }, dial);
    for (const { socket } of crowd) socket.write(NEXT);
    await eventually('all are answered or closed', () =>
      crowd.every(({ statuses, isClosed }) => statuses.length === 1 || isClosed),
    );
    expect((connections.counts.get('refused') ?? 0) - refusedBefore).toBeGreaterThanOrEqual(10);
    for (const { socket } of crowd) socket.destroy();
  });

  it('a port that another server has is refused, though that is one of the service itself', async () => {
    const { port, server } = await onFreePort((free) => serveOn(engine, [], { port: free }));
    await expect(serveOn(engine, [], { port })).rejects.toThrow('another program has it');
    server.close();
  });

  it('a server that accepts no more serves the connections that are open', async () => {
    const router: RequestHandler = (res) => writeReply(res, jsonReply(200, 'here'), false, false);
    const other = await serveOn(engine, [], { router });
    const client = new Dialogue(other.port);
    client.socket.write(NEXT);
    await eventually('an answer', () => client.statuses.length === 1);
    other.stopAccepting();
    const refused = new Dialogue(other.port);
    await eventually('no connection', () => refused.isClosed);
    client.socket.write(NEXT);
    await eventually('another answer', () => client.statuses.length === 2);
    other.close();
    await eventually('the end', () => client.isClosed);
  });
});
