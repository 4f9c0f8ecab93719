// Tests that the dialer reaches exactly what was judged, follows nothing, and waits for nobody: with real
// servers on loopback, and a resolver in the test's hands.

import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { AddressJudge } from '../../src/notify/address-judgement.ts';
import { type Answer, Dialer, type ResolveName } from '../../src/notify/dialer.ts';
import { gate } from '../support/gate.ts';
import { listening } from '../support/loopback-server.ts';
import { findOpenssl, makeCertificate } from '../support/nginx-front.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';

const LOOPBACK = new AddressJudge(['127.0.0.0/8'], () => []);
const NAME = 'receiver.example.com';
const endings: (() => Promise<void>)[] = [];
const openssl = findOpenssl();
const missing = openssl === undefined ? ' (skipped: no openssl on this machine)' : '';
let tls: { readonly key: string; readonly cert: string };

beforeAll(() => {
  if (openssl === undefined) return;
  const folder = temporaryFolder('sluice-dialer-');
  makeCertificate(openssl, folder, NAME);
  const [key = '', cert = ''] = ['cert.key', 'cert.pem'].map((name) =>
    readFileSync(join(folder, name), 'utf8'),
  );
  tls = { key, cert };
  removeFolder(folder);
});
afterEach(async () => {
  await Promise.all(endings.splice(0).map((end) => end()));
});

async function listen(server: Server): Promise<number> {
  const { port, close } = await listening(server);
  endings.push(close);
  return port;
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
    `is the address that was judged, named in TLS, and none with another certificate${missing}`,
    async () => {
      const heard: unknown[] = [];
      const server = createHttpsServer(tls, async (request, response) => {
        const { servername } = request.socket as Socket & { servername?: string };
        let body = '';
        for await (const part of request) body += part;
        const { method, url, headers } = request;
        heard.push({ method, url, servername, body, ...headers });
        response.end('thanks');
      });
      const port = await listen(server);
      const answer = await post(`https://${NAME}:${port}/hook?a=1`, { ca: tls.cert });
      expect(answer).toEqual({ status: 200, retryAfter: undefined, text: 'thanks' });
      expect(heard).toMatchObject([
        {
          ...{ method: 'POST', url: '/hook?a=1', host: `${NAME}:${port}`, connection: 'close' },
          ...{ 'content-type': 'application/json', servername: NAME, body: '{"ö":1}' },
        },
      ]);
      const other = await post(`https://other.example.com:${port}/`, { ca: tls.cert });
      const unknown = await post(`https://${NAME}:${port}/`);
      expect([other.status, unknown.status, heard.length]).toEqual([undefined, undefined, 1]);
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

  it('is nothing when a name leads to an address that is not public, or the URL names one itself', async () => {
    let calls = 0;
    const port = await listen(createServer(() => calls++));
    for (const addresses of [
      ['127.0.0.1'],
      ['1.1.1.1', '127.0.0.1'],
      ['::ffff:127.0.0.1'],
      ['169.254.169.254'],
      ['64:ff9b::a00:1', '2606:4700::1111'],
    ]) {
      const options = { judge: new AddressJudge([], () => []), resolve: to(addresses) };
      const answer = await post(`https://${NAME}:${port}/`, options);
      expect(answer).toMatchObject({ error: 'The name leads to an address that is not public' });
    }
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
    const { opened: closed, open: close } = gate();
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

  it('that does not come in time is said in words, for TLS and names too; a body that never ends keeps its status (§30.12)', async () => {
    const timeoutMs = 300;
    const begun = await serve((_, response) => response.writeHead(200).write('begun'));
    const answer = await post(`http://${NAME}:${begun}/`, { timeoutMs: 1000 });
    expect(answer).toMatchObject({ status: 200, text: 'begun' });
    const silent = await listen(createServer(() => undefined));
    const slow = await listen(
      createServer((socket) => {
        socket.write('HTTP/1.1 200 OK\r\nx: ');
        const timer = setInterval(() => socket.write('y'), 20);
        socket.on('close', () => clearInterval(timer));
      }),
    );
    const never: ResolveName = () => new Promise(() => undefined);
    const others = await Promise.all([
      ...[silent, slow].map((port) => post(`http://${NAME}:${port}/`, { timeoutMs })),
      post(`https://${NAME}:${silent}/`, { timeoutMs }),
      post(`https://${NAME}/`, { resolve: never, timeoutMs }),
    ]);
    expect(others).toEqual(Array(4).fill({ status: undefined, error: 'No answer within 0.3 s' }));
  });

  it('of a receiver that closes, resets or sends a head without end is an error in words', async () => {
    const closed = 'The receiver closed the connection without an answer';
    const endless = `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(64 * 1024)}`;
    for (const [connected, error] of [
      [(socket: Socket) => void socket.end(), closed],
      [(socket: Socket) => void socket.resetAndDestroy(), closed],
      [(socket: Socket) => void socket.write(endless), 'The head of the answer is too large'],
    ] as const) {
      const port = await listen(createServer(connected));
      expect(await post(`http://${NAME}:${port}/`)).toEqual({ status: undefined, error });
    }
  });

  it('of nothing that listens, or of no name, is an error in words', async () => {
    const port = await serve(() => undefined);
    await endings.splice(0)[0]?.();
    const refused = { status: undefined, error: 'The connection was refused' };
    expect(await post(`http://${NAME}:${port}/`)).toEqual(refused);
    const unknown: ResolveName = () =>
      Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' }));
    const answer = await post(`https://${NAME}/`, { resolve: unknown });
    expect(answer).toEqual({ status: undefined, error: 'The name has no address' });
  });
});
