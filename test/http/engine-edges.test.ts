// Tests what HTTP engines do at their edges: headers that no answer may carry, addresses and device ids in
// other forms, answers that the server breaks off, and the times of Node's.

import { Server as NetServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { HttpEngine } from '../../src/http/transport/engine.ts';
import type { HttpResponse } from '../../src/http/transport/http-app.ts';
import { openNodeApp } from '../../src/http/transport/node-app.ts';
import { type HeaderPair, jsonReply } from '../../src/http/transport/reply.ts';
import type { Route } from '../../src/http/transport/router.ts';
import { ConnectionLimit, type Server } from '../../src/http/transport/server.ts';
import { writeReply } from '../../src/http/transport/write-reply.ts';
import { LabelledCount } from '../../src/observe/labelled-count.ts';
import { RareLog } from '../../src/observe/rare-log.ts';
import { eventually } from '../support/eventually.ts';
import { httpEngines, serveOn } from '../support/http-engines.ts';
import { Dialogue } from '../support/raw-exchange.ts';

const NEXT = 'GET /u/next HTTP/1.1\r\nHost: x\r\n\r\n';
const get = (path: string, ...lines: string[]) =>
  [`GET ${path} HTTP/1.1`, 'Host: x', ...lines, '', ''].join('\r\n');

const LARGE_BYTES = 3_000_000;

/** Headers that would end the head, or that engines write in different bytes. */
const UNSENDABLE: readonly HeaderPair[] = [
  ['Location', 'https://a.example/\r\nSet-Cookie: a=b'],
  ['Location', 'https://a.example/\nx'],
  ['Location', 'https://a.example/\0'],
  ['Location', 'https://a.example/größe'],
  ['Location', 'https://a.example/\u{1f680}'],
  ['X-A\r\nX-B', 'b'],
];

type Told = { path: string; first: string; headers: ReadonlyMap<string, string> };

function routesOf(waiting: Set<() => void>): readonly Route[] {
  const pairOf = (index = '') => UNSENDABLE[Number(index)] as HeaderPair;
  const withPair = (index?: string) => ({ ...jsonReply(200, 'sent'), headers: [pairOf(index)] });
  return [
    {
      method: 'GET',
      path: '/header/:index',
      handler: async ({ params }) => withPair(params.get('index')),
    },
    {
      method: 'GET',
      path: '/header-at-once/:index',
      handler: ({ params }) => withPair(params.get('index')),
    },
    {
      method: 'GET',
      path: '/header-of-a-feed/:index',
      handler: ({ params }) => {
        const headers = [pairOf(params.get('index'))];
        return { status: 200, headers, events: () => () => undefined };
      },
    },
    {
      method: 'GET',
      path: '/waits',
      handler: () =>
        new Promise((resolve) => {
          waiting.add(() => resolve(jsonReply(200, 'late')));
        }),
    },
    {
      method: 'GET',
      path: '/feed',
      handler: () => ({
        status: 200,
        events: (sink) => {
          waiting.add(() => sink.send('news', 1));
          return () => undefined;
        },
      }),
    },
    {
      method: 'GET',
      path: '/large',
      handler: () => ({ status: 200, body: Buffer.alloc(LARGE_BYTES) }),
    },
  ];
}

function serve(engine: HttpEngine, told: Told[], waiting: Set<() => void>): Promise<Server> {
  return serveOn(engine, routesOf(waiting), {
    direct: {
      '/u': {
        get: (res, req) => {
          const headers = new Map<string, string>();
          req.forEach((name, value) => void headers.set(name, value));
          told.push({ path: req.getUrl(), first: req.getHeader('x-service-device'), headers });
          writeReply(res, jsonReply(200, 'here'), false, false);
        },
        head: (res: HttpResponse) => writeReply(res, jsonReply(200, 'here'), true, false),
      },
    },
  });
}

/** Sends requests, the next one after each answer; returns the client. */
async function ask(port: number, ...requests: readonly (string | Buffer)[]): Promise<Dialogue> {
  const client = new Dialogue(port);
  for (const [index, text] of requests.entries()) {
    client.socket.write(text);
    await eventually('an answer', () => client.statuses.length === index + 1);
  }
  return client;
}

describe.each(await httpEngines())('on %s', (name, engine) => {
  let server: Server;
  const told: Told[] = [];
  const waiting = new Set<() => void>();
  beforeAll(async () => {
    server = await serve(engine, told, waiting);
  });
  afterAll(() => server?.close());

  it.each(UNSENDABLE.map(([header, value], index) => ({ header, value, index })))(
    'a header $header: $value is a 500 and not in the answer, and the connection serves on',
    async ({ index }) => {
      for (const path of ['header', 'header-at-once', 'header-of-a-feed']) {
        const client = await ask(server.port, get(`/${path}/${index}`), NEXT);
        expect([path, ...client.statuses]).toEqual([path, 500, 200]);
        expect(client.text).not.toMatch(/set-cookie|X-B|a\.example/i);
        client.socket.destroy();
      }
    },
  );

  it.each(['gerät-\u{1f680}-1', 'é-1', '1-é', 'é'])(
    'a device id %s is told byte by byte, and decoded, without the ends that uWebSockets.js cuts off',
    async (id) => {
      const request = Buffer.from(get('/u/device', `X-Service-Device: ${id}`));
      const client = await ask(server.port, request);
      const { first, headers } = told.at(-1) as Told;
      const read = name === 'uws' ? id.replaceAll('é', '') : id;
      expect(Buffer.from(first, 'latin1').toString()).toBe(read);
      expect(headers.get('x-service-device')).toBe(read);
      client.socket.destroy();
    },
  );

  it.each(['http://x/u/a', 'http://x', '*'])(
    'an absolute address %s is not served',
    async (path) => {
      const client = await ask(server.port, get(path).replace('GET', 'OPTIONS'));
      expect(client.statuses).toEqual([name === 'uws' ? 505 : 404]);
      client.socket.destroy();
    },
  );

  it('an answer that the server breaks off ends its connection, and others are answered', async () => {
    const own = await serve(engine, [], waiting);
    const client = new Dialogue(own.port);
    client.socket.on('data', () => client.socket.pause());
    client.socket.write(get('/large'));
    await eventually('its beginning', () => client.text !== '');
    own.close();
    client.socket.removeAllListeners('data').resume();
    await eventually('the end', () => client.isClosed);
    (await ask(server.port, NEXT)).socket.destroy();
  });
});

describe("the times of Node's server", () => {
  const LONG = { idleMs: 60_000, headMs: 60_000, requestMs: 60_000, lookMs: 20 };
  const waiting = new Set<() => void>();
  const servers: Server[] = [];
  const start = async (times: Partial<typeof LONG>): Promise<Server> => {
    const openApp = () => openNodeApp({ ...LONG, ...times });
    const engine: HttpEngine = { name: 'node', reason: 'a test', canSharePort: false, openApp };
    const server = await serve(engine, [], waiting);
    servers.push(server);
    return server;
  };
  afterAll(() => {
    for (const server of servers) server.close();
  });

  it('an idle connection is closed, before its first request and after an answer', async () => {
    const { port } = await start({ idleMs: 200 });
    const [fresh, used] = [new Dialogue(port), new Dialogue(port)];
    used.socket.write(NEXT);
    await eventually('both are closed', () => fresh.isClosed && used.isClosed);
    expect([fresh.text, used.statuses]).toEqual(['', [200]]);
  });

  it.each([
    ['that stops', 0, false],
    ['that drips byte by byte', 0, true],
    ['that drips after an answer', 1, true],
  ])('a head %s is closed without an answer', async (_, answered, drips) => {
    const { port } = await start({ headMs: 300 });
    const client = await ask(port, ...Array.from({ length: answered }, () => NEXT));
    client.socket.write('GET /u/slow HTTP/1.1\r\nX-A: ');
    const timer = drips ? setInterval(() => client.socket.write('a'), 10) : undefined;
    await eventually('the end', () => client.isClosed);
    clearInterval(timer);
    expect(client.statuses).toHaveLength(answered);
  });

  it.each(['/waits', '/feed'])('a client of %s that waits longer is not cut off', async (path) => {
    const { port } = await start({ idleMs: 200, headMs: 200, requestMs: 200 });
    waiting.clear();
    const client = new Dialogue(port);
    client.socket.write(get(path));
    await eventually('it is served', () => waiting.size === 1);
    for (let idle = 0; idle < 3; idle++) {
      const other = new Dialogue(port);
      await eventually('an idle connection is closed', () => other.isClosed);
    }
    expect(client.isClosed).toBe(false);
    for (const tell of waiting) tell();
    await eventually('the answer', () => /late|news/.test(client.text));
    client.socket.destroy();
  });
});

it('a connection that the system does not accept is logged, once in a second', async () => {
  const lines: unknown[] = [];
  const log = new RareLog({ warn: (...line: unknown[]) => void lines.push(line) });
  const connections = new LabelledCount(['accepted', 'refused']);
  const listens = vi.spyOn(NetServer.prototype, 'listen');
  const app = openNodeApp();
  new ConnectionLimit({ connectionsMax: 10, connections, log }).applyTo(app);
  await app.listen({ host: '127.0.0.1', port: 0, isPortShared: false });
  const [server] = listens.mock.contexts as NetServer[];
  for (let count = 0; count < 100; count++) server?.emit('error', new Error('accept EMFILE'));
  expect(lines).toEqual([[{ reason: 'accept EMFILE' }, 'connection not accepted']]);
  listens.mockRestore();
  app.close();
});
