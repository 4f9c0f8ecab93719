// Tests what HTTP engines do at their edges: headers that no answer may carry, addresses and device ids in
// other forms, answers that the server breaks off, and the times of Node's.

import { Server as NetServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { HttpEngine } from '../../src/http/transport/engine.ts';
import type { HttpResponse } from '../../src/http/transport/http-app.ts';
import { openNodeApp } from '../../src/http/transport/node-app.ts';
import { type HeaderPair, jsonReply } from '../../src/http/transport/reply.ts';
import { Traffic } from '../../src/http/transport/request-observation.ts';
import { createRouter, type Route } from '../../src/http/transport/router.ts';
import { ConnectionLimit, type Server, startServer } from '../../src/http/transport/server.ts';
import { writeReply } from '../../src/http/transport/write-reply.ts';
import { LabelledCount } from '../../src/observe/labelled-count.ts';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { RareLog } from '../../src/observe/rare-log.ts';
import { Dialogue } from '../support/dialogue.ts';
import { eventually } from '../support/eventually.ts';
import { httpEngines } from '../support/http-engines.ts';

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
  return [
    {
      method: 'GET',
      path: '/header/:index',
      handler: async ({ params }) => {
        const pair = UNSENDABLE[Number(params.get('index'))] as HeaderPair;
        return { ...jsonReply(200, 'sent'), headers: [pair] };
      },
    },
    {
      method: 'GET',
      path: '/header-at-once/:index',
      handler: ({ params }) => {
        const pair = UNSENDABLE[Number(params.get('index'))] as HeaderPair;
        return { ...jsonReply(200, 'sent'), headers: [pair] };
      },
    },
    {
      method: 'GET',
      path: '/header-of-a-feed/:index',
      handler: ({ params }) => {
        const pair = UNSENDABLE[Number(params.get('index'))] as HeaderPair;
        return { status: 200, headers: [pair], events: () => () => undefined };
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

async function serve(engine: HttpEngine, told: Told[], waiting: Set<() => void>): Promise<Server> {
  const log = createLog('silent');
  return startServer({
    engine,
    ...{ host: '127.0.0.1', port: 0, isPortShared: false },
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
    router: createRouter(routesOf(waiting), new Traffic(log, new Metrics())),
  });
}

describe.each(await httpEngines())('on %s', (name, engine) => {
  let server: Server;
  const told: Told[] = [];
  const waiting = new Set<() => void>();
  beforeAll(async () => {
    server = await serve(engine, told, waiting);
  });
  afterAll(() => server?.close());

  describe.each(UNSENDABLE.map(([name, value], index) => ({ name, value, index })))(
    'a header $name: $value',
    ({ index }) => {
      it.each(['header', 'header-at-once', 'header-of-a-feed'])(
        'is a 500 and not in the answer, and the connection serves on (%s)',
        async (path) => {
          const client = new Dialogue(server.port);
          client.socket.write(get(`/${path}/${index}`));
          await eventually('an answer', () => client.statuses.length === 1);
          client.socket.write(NEXT);
          await eventually('the next one', () => client.statuses.length === 2);
          expect(client.statuses).toEqual([500, 200]);
          expect(client.text).not.toMatch(/set-cookie|X-B|a\.example/i);
          client.socket.destroy();
        },
      );
    },
  );

  it('a device id in UTF-8 is told byte by byte, and decoded among all headers', async () => {
    const client = new Dialogue(server.port);
    client.socket.write(Buffer.from(get('/u/device', 'X-Service-Device: gerät-\u{1f680}-1')));
    await eventually('an answer', () => client.statuses.length === 1);
    const { first, headers } = told.at(-1) as Told;
    expect(Buffer.from(first, 'latin1').toString()).toBe('gerät-\u{1f680}-1');
    expect(headers.get('x-service-device')).toBe('gerät-\u{1f680}-1');
    client.socket.destroy();
  });

  it.each(['é-1', '1-é', 'é'])(
    'a device id %s loses the ends that uWebSockets.js cuts off',
    async (id) => {
      const client = new Dialogue(server.port);
      client.socket.write(Buffer.from(get('/u/device', `X-Service-Device: ${id}`)));
      await eventually('an answer', () => client.statuses.length === 1);
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
      const client = new Dialogue(server.port);
      client.socket.write(get(path).replace('GET', 'OPTIONS'));
      await eventually('an answer', () => client.statuses.length === 1);
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
    const other = new Dialogue(server.port);
    other.socket.write(NEXT);
    await eventually('an answer', () => other.statuses.length === 1);
    other.socket.destroy();
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
    ['that stops', false],
    ['that drips byte by byte', true],
  ])('a head %s is closed without an answer', async (_, drips) => {
    const { port } = await start({ headMs: 300 });
    const client = new Dialogue(port);
    client.socket.write('GET /u/slow HTTP/1.1\r\nX-A: ');
    const timer = drips ? setInterval(() => client.socket.write('a'), 10) : undefined;
    await eventually('the end', () => client.isClosed);
    clearInterval(timer);
    expect(client.text).toBe('');
  });

  it('a head that drips after an answer is closed, too', async () => {
    const { port } = await start({ headMs: 300 });
    const client = new Dialogue(port);
    client.socket.write(NEXT);
    await eventually('an answer', () => client.statuses.length === 1);
    client.socket.write('GET /u/slow HTTP/1.1\r\nX-A: ');
    const timer = setInterval(() => client.socket.write('a'), 10);
    await eventually('the end', () => client.isClosed);
    clearInterval(timer);
    expect(client.statuses).toEqual([200]);
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
