// Tests that the dialer reaches exactly what was judged, follows nothing, and waits for nobody: with real
// servers on loopback, and a resolver in the test's hands.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { AddressJudge } from '../../src/notify/address-judgement.ts';
import { type Answer, Dialer, type ResolveName } from '../../src/notify/dialer.ts';
import { findOpenssl } from '../support/nginx-front.ts';

const LOOPBACK = new AddressJudge(['127.0.0.0/8'], () => []);
const NAME = 'receiver.example.com';
const servers: Server[] = [];
const sockets = new Set<Socket>();
const openssl = findOpenssl();
const missing = openssl === undefined ? ' (skipped: no openssl on this machine)' : '';
let folder = '';
let tls: { readonly key: string; readonly cert: string };

beforeAll(() => {
  if (openssl === undefined) return;
  folder = mkdtempSync(join(tmpdir(), 'dialer-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  execFileSync(
    openssl,
    [
      ...[
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-days',
        '2',
      ],
      ...[
        '-subj',
        `/CN=${NAME}`,
        '-addext',
        `subjectAltName=DNS:${NAME}`,
        '-keyout',
        key,
        '-out',
        cert,
      ],
    ],
    { stdio: 'ignore' },
  );
  tls = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
});
afterAll(() => openssl && rmSync(folder, { recursive: true }));
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await Promise.all(servers.splice(0).map((server) => new Promise((end) => server.close(end))));
});

async function listen(server: Server): Promise<number> {
  servers.push(server);
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return (server.address() as AddressInfo).port;
}

const serve = (listener: RequestListener) => listen(createHttpServer(listener));

function post(
  url: string,
  { judge = LOOPBACK, resolve = to('127.0.0.1'), ca = '', timeoutMs = 5000 } = {},
): Promise<Answer> {
  const dialer = new Dialer({ judge, resolve, timeoutMs, ...(ca === '' ? {} : { ca }) });
  return dialer.post({ url, headers: { 'content-type': 'application/json' }, body: '{"ö":1}' });
}

/** Resolver that answers each call with the next of these, and the last ones again. */
function to(...answers: (string | readonly string[])[]): ResolveName {
  let call = 0;
  return async () => {
    const answer = answers[Math.min(call++, answers.length - 1)] ?? [];
    return [answer].flat().map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  };
}

describe('what is dialled', () => {
  it.skipIf(openssl === undefined)(
    `is the address that was judged, named in TLS${missing}`,
    async () => {
      const heard: unknown[] = [];
      const server = createHttpsServer(tls, (request, response) => {
        const { servername } = request.socket as Socket & { servername?: string };
        const parts: Buffer[] = [];
        request.on('data', (part: Buffer) => parts.push(part));
        request.on('end', () => {
          const { host, connection, 'content-type': type } = request.headers;
          const body = Buffer.concat(parts).toString();
          heard.push({
            method: request.method,
            url: request.url,
            host,
            connection,
            type,
            servername,
            body,
          });
          response.end('thanks');
        });
      });
      const port = await listen(server);
      const answer = await post(`https://${NAME}:${port}/hook?a=1`, { ca: tls.cert });
      expect(answer).toEqual({ status: 200, retryAfter: undefined, text: 'thanks' });
      expect(heard).toEqual([
        {
          ...{ method: 'POST', url: '/hook?a=1', host: `${NAME}:${port}`, connection: 'close' },
          ...{ type: 'application/json', servername: NAME, body: '{"ö":1}' },
        },
      ]);
    },
  );

  it('is not the address that a name rebinds to after it was judged', async () => {
    let calls = 0;
    const port = await serve((_, response) => response.end(String(++calls)));
    // Nothing listens on the first address; the next one would be the server.
    const judge = new AddressJudge(['127.0.0.2/32'], () => []);
    const resolve = to('127.0.0.2', '127.0.0.1');
    const [first, second] = [
      await post(`https://${NAME}:${port}/`, { judge, resolve }),
      await post(`https://${NAME}:${port}/`, { judge, resolve }),
    ];
    expect(first).toMatchObject({ error: 'The connection was refused' });
    expect(second).toMatchObject({ error: 'The name leads to an address that is not public' });
    expect(calls).toBe(0);
  });

  it.each([
    [['127.0.0.1']],
    [['1.1.1.1', '127.0.0.1']],
    [['::ffff:127.0.0.1']],
    [['169.254.169.254']],
    [['64:ff9b::a00:1', '2606:4700::1111']],
  ])('is nothing when a name leads to %j', async (addresses) => {
    let calls = 0;
    const port = await listen(createServer(() => calls++));
    const options = { judge: new AddressJudge([], () => []), resolve: to(addresses) };
    const answer = await post(`https://${NAME}:${port}/`, options);
    expect(answer).toMatchObject({ error: 'The name leads to an address that is not public' });
    expect(calls).toBe(0);
  });

  it('is nothing when the URL names such an address itself', async () => {
    let calls = 0;
    const port = await listen(createServer(() => calls++));
    const judge = new AddressJudge(['10.0.0.0/8'], () => []);
    for (const host of ['127.0.0.1', '0x7f.1', '2130706433', '0.0.0.0', '[::ffff:127.0.0.1]']) {
      expect((await post(`https://${host}:${port}/`, { judge })).status).toBe(undefined);
      expect((await post(`http://${host}:${port}/`, { judge })).status).toBe(undefined);
    }
    expect(calls).toBe(0);
  });

  it('is dialled by http only where the operator allows the network', async () => {
    const answer = await post(`http://${NAME}/`, { resolve: to('1.1.1.1') });
    expect(answer).toMatchObject({ error: 'The address is public, and must be https://' });
  });

  it.skipIf(openssl === undefined)(`is none with another certificate${missing}`, async () => {
    const port = await listen(createHttpsServer(tls, (_, response) => response.end()));
    expect((await post(`https://other.example.com:${port}/`, { ca: tls.cert })).status).toBe(
      undefined,
    );
    expect((await post(`https://${NAME}:${port}/`)).status).toBe(undefined);
  });

  it('is the next address when the first one is dead', async () => {
    const port = await serve((_, response) => response.end());
    // Nothing listens on the other address of loopback.
    const resolve = to(['127.0.0.2', '127.0.0.1']);
    expect((await post(`http://${NAME}:${port}/`, { resolve })).status).toBe(200);
  });
});

describe('an answer', () => {
  it('that redirects is an answer, and is not followed', async () => {
    let calls = 0;
    const port = await serve((request, response) => {
      calls += 1;
      response.writeHead(307, { location: request.url === '/' ? '/there' : '/' }).end();
    });
    expect((await post(`http://${NAME}:${port}/`)).status).toBe(307);
    expect(calls).toBe(1);
  });

  it('tells its status, its first bytes and Retry-After', async () => {
    const port = await serve((_, response) => {
      response.writeHead(503, { 'retry-after': '7' }).end('é'.repeat(1000));
    });
    const answer = await post(`http://${NAME}:${port}/`);
    expect(answer).toMatchObject({ status: 503, retryAfter: '7', text: 'é'.repeat(128) });
  });

  it('is read up to 64 KiB; then the connection is closed', async () => {
    let sent = 0;
    let close: () => void = () => undefined;
    const closed = new Promise<void>((done) => {
      close = done;
    });
    const port = await serve((_, response) => {
      const part = Buffer.alloc(16 * 1024, 'x');
      const more = () => {
        while (!response.destroyed) {
          sent += part.length;
          if (!response.write(part)) break;
        }
      };
      response.on('drain', more).on('close', close);
      more();
    });
    expect((await post(`http://${NAME}:${port}/`)).status).toBe(200);
    await closed;
    // What the buffers of both sockets hold comes on top.
    expect(sent).toBeLessThan(32 * 1024 * 1024);
  });

  it('whose body never ends keeps its status, when the time is over', async () => {
    const port = await serve((_, response) => response.writeHead(200).write('begun'));
    const answer = await post(`http://${NAME}:${port}/`, { timeoutMs: 300 });
    expect(answer).toMatchObject({ status: 200, text: 'begun' });
  });

  it.each<[string, (socket: Socket) => void]>([
    ['that never comes', () => undefined],
    [
      'whose head comes byte by byte',
      (socket) => {
        const timer = setInterval(() => socket.write('H'), 20);
        socket.on('close', () => clearInterval(timer));
      },
    ],
  ])('%s is none, when the time is over', async (_, connected) => {
    const port = await listen(createServer(connected));
    const answer = await post(`http://${NAME}:${port}/`, { timeoutMs: 300 });
    expect(answer.status).toBe(undefined);
  });

  it('that does not come in time is said in words, for TLS and names too', async () => {
    const port = await listen(createServer(() => undefined));
    const late = { status: undefined, error: 'No answer within 0.3 s' };
    expect(await post(`http://${NAME}:${port}/`, { timeoutMs: 300 })).toEqual(late);
    expect(await post(`https://${NAME}:${port}/`, { timeoutMs: 300 })).toEqual(late);
    const never: ResolveName = () => new Promise(() => undefined);
    expect(await post(`https://${NAME}/`, { resolve: never, timeoutMs: 300 })).toEqual(late);
  });

  it.each<[string, (socket: Socket) => void, string]>([
    ['closes', (socket) => socket.end(), 'The receiver closed the connection without an answer'],
    [
      'resets',
      (socket) => socket.resetAndDestroy(),
      'The receiver closed the connection without an answer',
    ],
    [
      'sends a head without end',
      (socket) => {
        socket.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(64 * 1024)}`);
      },
      'The head of the answer is too large',
    ],
  ])('of a receiver that %s is an error in words', async (_, connected, words) => {
    const port = await listen(createServer(connected));
    expect(await post(`http://${NAME}:${port}/`)).toEqual({ status: undefined, error: words });
  });

  it('of nothing that listens, or of no name, is an error in words', async () => {
    const port = await serve(() => undefined);
    await new Promise((end) => servers.splice(0)[0]?.close(end));
    const refused = { status: undefined, error: 'The connection was refused' };
    expect(await post(`http://${NAME}:${port}/`)).toEqual(refused);
    const unknown: ResolveName = () =>
      Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' }));
    const answer = await post(`https://${NAME}/`, { resolve: unknown });
    expect(answer).toEqual({ status: undefined, error: 'The name has no address' });
  });
});
