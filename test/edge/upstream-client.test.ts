// Tests of what an edge believes of what comes from the address of its upstream (§29.3).

import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { beforeEach, expect, it } from 'vitest';
import {
  EDGE_NONCE_HEADER,
  EDGE_RECORD_HEADER,
  EDGE_SIGNATURE_HEADER,
  NONCE,
  signedHead,
} from '../../src/contract/edge.ts';
import { Unavailable } from '../../src/contract/store-fault.ts';
import {
  describeFailure,
  isTokenRefused,
  RefusedByUpstream,
  readCredential,
  UpstreamClient,
} from '../../src/edge/upstream-client.ts';
import { eventually } from '../support/eventually.ts';
import { loopbackServer } from '../support/loopback-server.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const foreign = generateKeyPairSync('ed25519').privateKey;
const SPKI_HEAD_BYTES = 12;
const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(SPKI_HEAD_BYTES);
const TOKEN = `sluice-edge_0123456789ab_secret.${raw.toString('base64url')}`;
const CALL = { method: 'GET', path: 'time', timeoutMs: 1000 } as const;

let client: UpstreamClient;
const refused: string[] = [];
let record: string | undefined;
let answer: (request: IncomingMessage, response: ServerResponse) => void;

beforeEach(async () => {
  refused.length = 0;
  const server = await loopbackServer((...asked) => answer(...asked));
  const credential = readCredential(TOKEN);
  if (credential === undefined) throw new Error('the token is malformed');
  client = new UpstreamClient({
    url: `http://127.0.0.1:${server.port}`,
    credential,
    record: () => record,
    onRefused: (refusal, path) => refused.push(`${refusal} ${path}`),
  });
  return () => {
    client.close();
    return server.close();
  };
});

/** Returns the signature of an answer to a call by a key. */
type Signing = (nonce: string, status: number) => string;

function signing(body: string, key: KeyObject): Signing {
  return (nonce, status) =>
    sign(null, Buffer.from(signedHead(nonce, status) + body), key).toString('base64url');
}

/** Answers with a status and a body, and with these signatures of it. */
function answeringWith(status: number, body: string, ...signings: readonly Signing[]): void {
  answer = (request, response) => {
    const nonce = String(request.headers[EDGE_NONCE_HEADER]);
    const signatures = signings.map((each) => each(nonce, status)).join(',');
    if (signatures !== '') response.setHeader(EDGE_SIGNATURE_HEADER, signatures);
    response.writeHead(status).end(body);
  };
}

function answering(body: string, ...signings: readonly Signing[]): void {
  answeringWith(200, body, ...signings);
}

const BODY = JSON.stringify({ kind: 'time', at: 5 });
/** Answer to another call. */
const OTHER = JSON.stringify({ kind: 'ahead', epoch: 5 });

it('an answer with a signature of the right key is believed, also among others', async () => {
  answering(BODY, signing(BODY, foreign), signing(BODY, privateKey));
  expect((await client.call('time', CALL))?.answer).toEqual({ kind: 'time', at: 5 });
  expect(refused).toEqual([]);
});

it.each([
  ['unsigned', () => answering(BODY)],
  ['tampered', () => answering(BODY.replace('5', '6'), signing(BODY, privateKey))],
  ['tampered', () => answering(BODY, signing(BODY, foreign))],
  ['tampered', () => answering(BODY, () => 'nonsense')],
  ['malformed', () => answering('{}', signing('{}', privateKey))],
  ['malformed', () => answering('null', signing('null', privateKey))],
  ['malformed', () => answering('x', signing('x', privateKey))],
  ['malformed', () => answering(OTHER, signing(OTHER, privateKey))],
])('an answer that is %s is refused, and noted', async (reason, prepare) => {
  prepare();
  await expect(client.call('time', CALL)).rejects.toThrow(Unavailable);
  expect(refused).toEqual([`${reason} time`]);
});

it('a fault of the upstream is no refusal, and a wrong call is told apart from it', async () => {
  answer = (_, response) => response.writeHead(503).end('{"error":"later"}');
  await expect(client.call('time', CALL)).rejects.toThrow(Unavailable);
  answeringWith(400, '{"error":"wrong"}', signing('{"error":"wrong"}', privateKey));
  await expect(client.call('time', CALL)).rejects.toThrow(RefusedByUpstream);
  answer = (_, response) => response.writeHead(429).end();
  await expect(client.call('time', CALL)).rejects.toThrow(Unavailable);
  expect(refused).toEqual([]);
});

it('an answer to one call stands for none to another', async () => {
  const signatures: string[] = [];
  const signed = signing(BODY, privateKey);
  const once: Signing = (nonce, status) => {
    expect(nonce).toMatch(NONCE);
    signatures.push(signed(nonce, status));
    return signatures[0] ?? '';
  };
  answering(BODY, once);
  expect((await client.call('time', CALL))?.answer).toEqual({ kind: 'time', at: 5 });
  await expect(client.call('time', CALL)).rejects.toThrow(Unavailable);
  expect(refused).toEqual(['tampered time']);
});

it.each([304, 400, 404, 413])(
  'a %i that the upstream has not signed says nothing',
  async (status) => {
    answeringWith(status, '');
    await expect(client.call('time', CALL)).rejects.toThrow(Unavailable);
    answeringWith(status, '', (nonce) => signing('', privateKey)(nonce, 200));
    await expect(client.call('time', CALL)).rejects.toThrow(Unavailable);
    expect(refused).toEqual(['unsigned time', 'tampered time']);
  },
);

it('304 is no answer; the token and the body are sent', async () => {
  const seen: string[] = [];
  answer = (request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    const signature = signing('', privateKey)(String(request.headers[EDGE_NONCE_HEADER]), 304);
    response.setHeader(EDGE_SIGNATURE_HEADER, signature);
    request.setEncoding('utf8').on('data', (text) => seen.push(String(text)));
    request.on('end', () => response.writeHead(304).end());
  };
  expect(await client.call('time', { ...CALL, method: 'POST', body: { a: 1 } })).toBeUndefined();
  expect(seen).toEqual(['POST /edge/v1/time Bearer sluice-edge_0123456789ab_secret', '{"a":1}']);
});

it('the record that is followed is named in each call; a service of another one is refused', async () => {
  const named: unknown[] = [];
  record = 'rec_1';
  const body = '{"error":"another"}';
  answer = (request, response) => {
    named.push(request.headers[EDGE_RECORD_HEADER]);
    const nonce = String(request.headers[EDGE_NONCE_HEADER]);
    response.setHeader(EDGE_SIGNATURE_HEADER, signing(body, privateKey)(nonce, 409));
    response.writeHead(409).end(body);
  };
  const call = client.call('time', CALL);
  await expect(call).rejects.toMatchObject({ cause: { refusal: 'foreign' } });
  record = undefined;
  await expect(client.call('time', CALL)).rejects.toThrow(Unavailable);
  expect(named).toEqual(['rec_1', undefined]);
  expect(refused).toEqual(['foreign time', 'foreign time']);
});

it('a call ends when its time is over, when the connection is cut, and with the client', async () => {
  answer = () => undefined;
  await expect(client.call('time', { ...CALL, timeoutMs: 50 })).rejects.toThrow('within 50 ms');
  answer = (request) => request.socket.destroy();
  await expect(client.call('time', CALL)).rejects.toThrow(Unavailable);
  answer = (_, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('{');
    setTimeout(() => response.destroy(), 10);
  };
  await expect(client.call('time', CALL)).rejects.toThrow(Unavailable);
  answer = () => undefined;
  const last = client.call('time', CALL);
  client.close();
  await expect(last).rejects.toThrow(Unavailable);
});

it.each([
  '',
  'sluice-edge_0123456789ab_secret',
  `sluice_0123456789ab_secret.${raw.toString('base64url')}`,
  `${TOKEN}.x`,
  TOKEN.slice(0, -1),
])('%j is no token', (token) => {
  expect(readCredential(token)).toBeUndefined();
});

it.each([401, 403])('a token that is refused with %i is noted, with the status', async (status) => {
  answer = (_, response) => response.writeHead(status).end('{}');
  const error: unknown = await client.call('time', CALL).catch((caught: unknown) => caught);
  expect([isTokenRefused(error), describeFailure(error)]).toEqual([
    true,
    `it does not accept the token (${status})`,
  ]);
  expect(refused).toEqual(['revoked time']);
  answer = (_, response) => response.writeHead(404).end('{}');
  const other: unknown = await client.call('time', CALL).catch((caught: unknown) => caught);
  expect(isTokenRefused(other)).toBe(false);
});

it('connections are kept until they are to be made anew; calls that run meanwhile go on', async () => {
  const ports: unknown[] = [];
  const held: (() => void)[] = [];
  const prove = signing(BODY, privateKey);
  answer = ({ socket, headers, url }, response) => {
    ports.push(socket.remotePort);
    response.setHeader(EDGE_SIGNATURE_HEADER, prove(String(headers[EDGE_NONCE_HEADER]), 200));
    if (url === '/edge/v1/held') held.push(() => response.end(BODY));
    else response.end(BODY);
  };
  const call = () => client.call('time', CALL);
  await call();
  await call();
  expect(new Set(ports).size).toBe(1);
  client.reconnect();
  await call();
  expect(new Set(ports).size).toBe(2);
  const long = { ...CALL, path: 'held', timeoutMs: 60_000 };
  const running = client.call('time', long);
  await eventually('it is asked', () => held.length === 1);
  client.reconnect();
  await call();
  held[0]?.();
  expect((await running)?.answer).toEqual({ kind: 'time', at: 5 });
  const ended = client.call('time', long);
  await eventually('it is asked', () => held.length === 2);
  client.restart();
  await expect(ended).rejects.toThrow(Unavailable);
  expect((await call())?.answer).toEqual({ kind: 'time', at: 5 });
});
