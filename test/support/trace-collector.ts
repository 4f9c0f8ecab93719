// Collector of traces for tests: takes OTLP over HTTP in JSON, and keeps the spans.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export type TraceCollector = {
  /** Settings that make a node send its traces here, soon. */
  readonly settings: Readonly<Record<string, string>>;
  readonly spans: readonly CollectedSpan[];
  /** Headers of the latest request. */
  readonly headers: Readonly<Record<string, unknown>>;
  stop(): Promise<void>;
};

export type CollectedSpan = {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly status: number | undefined;
};

type Attribute = { readonly key: string; readonly value: Readonly<Record<string, unknown>> };
type RawSpan = Omit<CollectedSpan, 'attributes' | 'resource' | 'status'> & {
  readonly attributes?: readonly Attribute[];
  readonly status?: { readonly code?: number };
};
type Request = {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly RawSpan[] }[];
  }[];
};

/** Starts a collector on a free port. */
export async function startTraceCollector(): Promise<TraceCollector> {
  const spans: CollectedSpan[] = [];
  let headers: Readonly<Record<string, unknown>> = {};
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    headers = request.headers;
    if (request.url === '/v1/traces') {
      spans.push(...spansIn(JSON.parse(Buffer.concat(parts).toString()) as Request));
    }
    response.setHeader('Content-Type', 'application/json').end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    settings: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=acme',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      OTEL_BSP_SCHEDULE_DELAY: '100',
    },
    spans,
    get headers() {
      return headers;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function spansIn({ resourceSpans }: Request): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap(({ spans }) => spans)
      .map((span) => ({
        ...span,
        parentSpanId: span.parentSpanId || undefined,
        attributes: valuesOf(span.attributes ?? []),
        resource: valuesOf(resource.attributes),
        status: span.status?.code,
      })),
  );
}

function valuesOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
