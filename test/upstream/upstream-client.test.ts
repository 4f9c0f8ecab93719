// Tests of what an edge believes of what comes from the address of its upstream (§29.3).

import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EDGE_SIGNATURE_HEADER, SIGNED_PREFIX } from '../../src/contract/edge-signature.ts';
import { Unavailable } from '../../src/ports/unavailable.ts';
import { readCredential } from '../../src/upstream/read-credential.ts';
import { RefusedByUpstream, UpstreamClient } from '../../src/upstream/upstream-client.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const foreign = generateKeyPairSync('ed25519').privateKey;
const SPKI_HEAD_BYTES = 12;
const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(SPKI_HEAD_BYTES);
const TOKEN = `sluice-edge_0123456789ab_secret.${raw.toString('base64url')}`;
const CALL = { method: 'GET', path: 'time', timeoutMs: 1000 } as const;

let server: Server;
let client: UpstreamClient;
const refused: string[] = [];
let answer: (request: IncomingMessage, response: ServerResponse) => void;

beforeEach(async () => {
  refused.length = 0;
  server = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const credential = readCredential(TOKEN);
  if (credential === undefined) throw new Error('the token is malformed');
  client = new UpstreamClient({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    credential,
    onRefused: (refusal, path) => refused.push(`${refusal} ${path}`),
  });
});
afterEach(() => {
  client.close();
  server.closeAllConnections();
  server.close();
});

function signatureOf(body: string, key: KeyObject): string {
  return sign(null, Buffer.from(SIGNED_PREFIX + body), key).toString('base64url');
}

/** Answers with a body, and with these signatures of it. */
function answering(body: string, ...signatures: readonly string[]): void {
  answer = (_, response) => {
    if (signatures.length > 0) response.setHeader(EDGE_SIGNATURE_HEADER, signatures.join(','));
    response.end(body);
  };
}

const BODY = JSON.stringify({ kind: 'time', at: 5 });

it('an answer with a signature of the right key is believed, also among others', async () => {
  answering(BODY, signatureOf(BODY, foreign), signatureOf(BODY, privateKey));
  expect((await client.call('time', CALL))?.answer).toEqual({ kind: 'time', at: 5 });
  expect(refused).toEqual([]);
});

it.each([
  ['unsigned', () => answering(BODY)],
  ['tampered', () => answering(BODY.replace('5', '6'), signatureOf(BODY, privateKey))],
  ['tampered', () => answering(BODY, signatureOf(BODY, foreign))],
  ['tampered', () => answering(BODY, 'nonsense')],
  ['malformed', () => answering('{}', signatureOf('{}', privateKey))],
  ['malformed', () => answering('null', signatureOf('null', privateKey))],
  ['malformed', () => answering('x', signatureOf('x', privateKey))],
])('an answer that is %s is refused, and noted', async (reason, prepare) => {
  prepare();
  await expect(client.call('time', CALL)).rejects.toThrow(Unavailable);
  expect(refused).toEqual([`${reason} time`]);
});

it('an answer of another kind stands for none', async () => {
  answering(BODY, signatureOf(BODY, privateKey));
  await expect(client.call('index', { ...CALL, path: 'index?wait=1' })).rejects.toThrow();
  expect(refused).toEqual(['malformed index']);
});

it('a token that the upstream refuses is noted as revoked', async () => {
  answer = (_, response) => response.writeHead(401).end('{}');
  await expect(client.call('time', CALL)).rejects.toThrow(Unavailable);
  expect(refused).toEqual(['revoked time']);
});

it('a fault of the upstream is no refusal, and a wrong call is told apart from it', async () => {
  answer = (_, response) => response.writeHead(503).end('{"error":"later"}');
  await expect(client.call('time', CALL)).rejects.toThrow(Unavailable);
  answer = (_, response) => response.writeHead(400).end('{"error":"wrong"}');
  await expect(client.call('time', CALL)).rejects.toThrow(RefusedByUpstream);
  answer = (_, response) => response.writeHead(429).end();
  await expect(client.call('time', CALL)).rejects.toThrow(Unavailable);
  expect(refused).toEqual([]);
});

it('304 is no answer; the token and the body are sent', async () => {
  const seen: string[] = [];
  answer = (request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    request.setEncoding('utf8').on('data', (text) => seen.push(String(text)));
    request.on('end', () => response.writeHead(304).end());
  };
  expect(await client.call('time', { ...CALL, method: 'POST', body: { a: 1 } })).toBeUndefined();
  expect(seen).toEqual(['POST /edge/v1/time Bearer sluice-edge_0123456789ab_secret', '{"a":1}']);
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
