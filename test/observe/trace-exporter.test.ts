// Tests how spans are sent to a collector: what a request has of the settings, and after which answers it is
// repeated. That an export settles whatever a collector does is in test/outgoing.

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { BasicTracerProvider, type ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openTraceExporter } from '../../src/observe/trace-exporter.ts';
import { loopbackServer } from '../support/loopback-server.ts';

type Answer = { readonly status: number; readonly retryAfter?: string };
type Asked = {
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
};

/** What the collector answers, in order; then 200. `cut`: it closes the connection instead. */
let answers: (Answer | 'cut')[];
let asked: Asked[];
let end: () => void;

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

beforeEach(async () => {
  answers = [];
  asked = [];
  const { port, close } = await loopbackServer(async (request, response) => {
    asked.push({ url: request.url, headers: request.headers, body: await bodyOf(request) });
    const answer = answers.shift() ?? { status: 200 };
    if (answer === 'cut') return void request.socket.destroy();
    const { status, retryAfter } = answer;
    response.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter }).end();
  });
  end = close;
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${port}/otlp`);
  vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '60000');
});
afterEach(() => {
  vi.unstubAllEnvs();
  end();
});

async function send(protocol: 'http/json' | 'http/protobuf' = 'http/json'): Promise<ExportResult> {
  const exporter = await openTraceExporter(protocol);
  const span = new BasicTracerProvider().getTracer('test').startSpan('a span of the test');
  span.end();
  const result = await new Promise<ExportResult>((resolve) => {
    exporter.export([span as unknown as ReadableSpan], resolve);
  });
  await exporter.shutdown();
  return result;
}

it.each([
  ['http/json', 'application/json'],
  ['http/protobuf', 'application/x-protobuf'],
] as const)('spans are sent as %s, with the headers of the settings', async (protocol, type) => {
  vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'x-tenant=acme,authorization=Bearer%20a');
  expect(await send(protocol)).toEqual({ code: ExportResultCode.SUCCESS });
  expect(asked).toMatchObject([
    {
      url: '/otlp/v1/traces',
      headers: { 'content-type': type, 'x-tenant': 'acme', authorization: 'Bearer a' },
    },
  ]);
  expect(asked[0]?.body.toString('latin1')).toContain('a span of the test');
  expect(asked[0]?.headers['content-encoding']).toBeUndefined();
});

it('gzip compresses what is sent', async () => {
  vi.stubEnv('OTEL_EXPORTER_OTLP_COMPRESSION', 'gzip');
  await send();
  expect(asked[0]?.headers['content-encoding']).toBe('gzip');
  const body = gunzipSync(asked[0]?.body ?? '').toString();
  expect(body).toContain('a span of the test');
});

it('the address for traces is used as it stands', async () => {
  const url = process.env.OTEL_EXPORTER_OTLP_ENDPOINT;
  vi.stubEnv('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', `${url}/elsewhere`);
  await send();
  expect(asked[0]?.url).toBe('/otlp/elsewhere');
});

it.each([429, 502, 503, 504])('a %s is repeated, when the collector says', async (status) => {
  answers = [
    { status, retryAfter: '0' },
    { status, retryAfter: 'Sat, 01 Aug 2020 00:00:00 GMT' },
  ];
  expect(await send()).toEqual({ code: ExportResultCode.SUCCESS });
  expect(asked).toHaveLength(3);
});

it('a connection that ends before an answer is repeated', async () => {
  answers = ['cut'];
  expect(await send()).toEqual({ code: ExportResultCode.SUCCESS });
  expect(asked).toHaveLength(2);
});

it.each([301, 400, 401, 500])('a %s is not repeated', async (status) => {
  answers = [{ status, retryAfter: '0' }];
  expect(await send()).toMatchObject({ code: ExportResultCode.FAILED });
  expect(asked).toHaveLength(1);
});

it('an export is given up after six tries', async () => {
  answers = Array.from({ length: 10 }, () => ({ status: 503, retryAfter: '0' }));
  expect(await send()).toMatchObject({ code: ExportResultCode.FAILED });
  expect(asked).toHaveLength(6);
});

it('an export is given up where the collector asks for a longer wait than there is time', async () => {
  answers = [{ status: 503, retryAfter: '61' }];
  expect(await send()).toMatchObject({ code: ExportResultCode.FAILED });
  expect(asked).toHaveLength(1);
});
