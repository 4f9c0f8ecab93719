// Tests that calls to others settle whatever the server does: the one way to make them by itself, and from
// each of its callers.

import { Agent } from 'node:http';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import {
  BasicTracerProvider,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { OidcProvider } from '../../src/access/oidc-provider.ts';
import { ServiceClient, ServiceError } from '../../src/cli/call/service-client.ts';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { readCredential, UpstreamClient } from '../../src/edge/upstream-client.ts';
import { callOut, LateAnswer, type OutgoingCall } from '../../src/flow/outgoing-call.ts';
import { examinePort } from '../../src/node/machine/examine-machine.ts';
import { AddressJudge } from '../../src/notify/address-judgement.ts';
import { Dialer } from '../../src/notify/dialer.ts';
import { openTraceExporter } from '../../src/observe/trace-exporter.ts';
import { eventually } from '../support/eventually.ts';
import { loopbackServer } from '../support/loopback-server.ts';
import { startWildServer, WILDNESSES, type Wildness } from '../support/wild-server.ts';

/** Time of calls that get no answer, whatever it is. */
const CALL_MS_MAX = 300;
/** Time of calls whose answer begins and never ends; and of those that are answered, on a busy machine. */
const ENDLESS_MS_MAX = 3000;
const ANSWERED_MS_MAX = 60_000;
const ends: (() => unknown)[] = [];
afterEach(() => void vi.useRealTimers());
afterAll(async () => {
  for (const end of ends.splice(0)) await end();
});

async function startWild(wildness: Wildness) {
  const server = await startWildServer(() => wildness);
  ends.push(() => server.stop());
  return server;
}

function call(port: number, changes: Partial<OutgoingCall> = {}) {
  return callOut({
    ...{ url: `http://127.0.0.1:${port}/`, method: 'POST', headers: {}, body: 'x' },
    ...{ timeoutMs: CALL_MS_MAX, answerBytesMax: 100_000, ...changes },
  });
}

/** Answers that have a head and not the whole of their body. */
const WITH_A_HEAD: ReadonlySet<Wildness> = new Set([
  'a close after the head',
  'half a body',
  'half a chunk',
  'a body byte by byte',
  'a body without end',
]);
/** Servers of which a caller meets a few: what a call does of each is tested above all. */
const OF_CALLERS = [
  '101 Switching Protocols',
  'half a body',
  'a head byte by byte',
  'nothing',
] as const;
/** Interim answers that count as the answer. */
const INTERIM: Readonly<Partial<Record<Wildness, number>>> = {
  '101 Switching Protocols': 101,
  '101 without an upgrade': 101,
  '100 without end': 100,
  '103 without end': 103,
};

/** Returns a time in which an answer that a test wants surely comes. */
function timeFor(wildness: Wildness): number {
  if (wildness === 'a body byte by byte') return ENDLESS_MS_MAX;
  const isAnswered = WITH_A_HEAD.has(wildness) || INTERIM[wildness] !== undefined;
  return isAnswered ? ANSWERED_MS_MAX : CALL_MS_MAX;
}

describe('a call', () => {
  it.each(WILDNESSES)('settles on %s, and leaves no connection', async (wildness) => {
    const server = await startWild(wildness);
    const connection = { agent: new Agent({ keepAlive: true }) };
    const answer = call(server.port, { connection, timeoutMs: timeFor(wildness) });
    const status = INTERIM[wildness];
    if (status !== undefined) expect(await answer).toMatchObject({ status, body: Buffer.from('') });
    else await expect(answer).rejects.toThrow();
    await eventually('no connection is open', () => server.open === 0);
  });

  it.each(OF_CALLERS)('settles on %s where TLS should be', async (wildness) => {
    const server = await startWild(wildness);
    await expect(call(server.port, { url: `https://127.0.0.1:${server.port}/` })).rejects.toThrow();
    await eventually('no connection is open', () => server.open === 0);
  });

  it.each([...WITH_A_HEAD])('keeps the head of %s where that is enough', async (wildness) => {
    const { port } = await startWild(wildness);
    const answer = await call(port, {
      ...{ isPartEnough: true, answerBytesMax: 1000, timeoutMs: timeFor(wildness) },
    });
    expect(answer.status).toBe(200);
    expect(answer.body.length).toBeLessThanOrEqual(1000);
  });

  it('joins the parts of an answer in their order', async () => {
    const server = await loopbackServer((_, response) => {
      for (const part of ['one, ', 'two, ']) response.write(part);
      response.end('three');
    });
    ends.push(server.close);
    const { body } = await call(server.port, { timeoutMs: ANSWERED_MS_MAX });
    expect(String(body)).toBe('one, two, three');
  });

  it('says that its time is over, and the reason of who ended it', async () => {
    const { port } = await startWild('nothing');
    await expect(call(port)).rejects.toThrow(LateAnswer);
    const ending = new AbortController();
    const ended = call(port, { signal: ending.signal });
    ending.abort(new Error('enough'));
    await expect(ended).rejects.toThrow('enough');
    await expect(call(port, { signal: ending.signal })).rejects.toThrow('enough');
  });

  it.each(['POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS'])(
    '%s has its body, with the length, and follows no redirect',
    async (method) => {
      const { port, close } = await loopbackServer(async (request, response) => {
        const parts = await request.toArray();
        response.writeHead(307, { location: '/there' });
        response.end(`${request.headers['content-length']} ${Buffer.concat(parts)}`);
      });
      ends.push(close);
      for (const body of ['{"größer":1}', Buffer.from('{"größer":1}')]) {
        const answer = await call(port, { method, body, timeoutMs: ANSWERED_MS_MAX });
        expect([answer.status, answer.body.toString()]).toEqual([307, '14 {"größer":1}']);
      }
    },
  );

  it('keeps the connection of an agent, unless an early answer leaves its request half sent', async () => {
    const ports = new Set<number | undefined>();
    const server = await loopbackServer((request, response) => {
      ports.add(request.socket.remotePort);
      response.end('early');
      if (request.url === '/whole') request.resume();
    });
    ends.push(server.close);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ask = (path: string, body: string | Buffer) =>
      call(server.port, {
        ...{ url: `http://127.0.0.1:${server.port}${path}`, body },
        ...{ connection: { agent }, timeoutMs: 30_000 },
      });
    for (let count = 0; count < 3; count++) await ask('/whole', 'x');
    expect(ports.size).toBe(1);
    await ask('/early', Buffer.alloc(32 * 1024 * 1024));
    await ask('/whole', 'x');
    expect(ports.size).toBe(2);
    agent.destroy();
  });
});

describe.each(OF_CALLERS)('where a server does %s', (wildness) => {
  it('a sign-in provider is away (§31.12)', async () => {
    const { port } = await startWild(wildness);
    const issuer = { issuer: `http://127.0.0.1:${port}`, clientId: 'sluice', clientSecret: 'x' };
    const groups = { scopes: 'openid', groupsClaim: undefined, roles: [] };
    const provider = new OidcProvider({ ...issuer, ...groups }, Date.now);
    await expect(provider.discover()).rejects.toMatchObject({ reason: 'away' });
  });

  it('the doctor tells what is wrong', async () => {
    const { port } = await startWild(wildness);
    const examined = await examinePort('PORT', { host: '127.0.0.1', port });
    const message = expect.stringContaining('in use by another program');
    expect(examined).toMatchObject({ ok: false, message });
  });

  it('the command refuses', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const server = await startWild(wildness);
    const client = ServiceClient.ofManagement(`http://127.0.0.1:${server.port}`, 'key', true);
    const refused = expect(client.call('GET', 'releases')).rejects.toThrow(ServiceError);
    while (server.asked === 0) await new Promise(setImmediate);
    await vi.advanceTimersByTimeAsync(30_000);
    vi.useRealTimers();
    await refused;
  });

  it('an edge takes it for no answer of its upstream (§29.11)', async () => {
    const { port } = await startWild(wildness);
    const key = Buffer.alloc(32, 1).toString('base64url');
    const credential = readCredential(`sluice-edge_0123456789ab_secret.${key}`);
    if (credential === undefined) throw new Error('the token is malformed');
    const options = { credential, record: () => undefined, onRefused: () => undefined };
    const client = new UpstreamClient({ url: `http://127.0.0.1:${port}`, ...options });
    const asked = { method: 'POST', path: 'time', body: {}, timeoutMs: CALL_MS_MAX } as const;
    await expect(client.call('time', asked)).rejects.toThrow(Unavailable);
    client.close();
  });
});

describe('a notification', () => {
  const judge = new AddressJudge(['127.0.0.0/8'], () => []);
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
  it.each(OF_CALLERS)(
    'to a receiver of %s is tried, with what came of it (§30.12)',
    async (wildness) => {
      const { port } = await startWild(wildness);
      const dialer = new Dialer({ judge, resolve, timeoutMs: timeFor(wildness) });
      const post = { headers: {}, body: '{}' };
      const answer = await dialer.post({ ...post, url: `http://receiver.test:${port}/` });
      const withHead = WITH_A_HEAD.has(wildness) ? 200 : INTERIM[wildness];
      expect(answer.status).toBe(withHead);
      const { status } = await new Dialer({ judge, resolve, timeoutMs: CALL_MS_MAX }).post({
        ...{ ...post, url: `https://receiver.test:${port}/` },
      });
      expect(status).toBeUndefined();
    },
  );
});

describe('a collector of traces', () => {
  afterEach(() => void vi.unstubAllEnvs());

  async function openExporter(port: number, timeoutMs = CALL_MS_MAX): Promise<SpanExporter> {
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${port}`);
    vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', String(timeoutMs));
    return openTraceExporter('http/json');
  }

  function exportSpan(exporter: SpanExporter): Promise<ExportResult> {
    const span = new BasicTracerProvider().getTracer('test').startSpan('test');
    span.end();
    return new Promise((resolve) => exporter.export([span as unknown as ReadableSpan], resolve));
  }

  it.each(OF_CALLERS)('that does %s is done with, and leaves no connection', async (wildness) => {
    const server = await startWild(wildness);
    const { code } = await exportSpan(await openExporter(server.port, timeFor(wildness)));
    const isTaken = WITH_A_HEAD.has(wildness);
    expect(code).toBe(isTaken ? ExportResultCode.SUCCESS : ExportResultCode.FAILED);
    await eventually('no connection is open', () => server.open === 0);
  });
});
