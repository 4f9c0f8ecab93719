// Collector of traces for tests: takes OTLP over HTTP in JSON, and keeps the spans.

import { bodyOf, loopbackServer } from './loopback-server.ts';

export type TraceCollector = Awaited<ReturnType<typeof startTraceCollector>>;

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
export async function startTraceCollector() {
  const spans: CollectedSpan[] = [];
  let headers: Readonly<Record<string, unknown>> = {};
  const { port, close } = await loopbackServer(async (request, response) => {
    const body = (await bodyOf(request))?.toString();
    if (body === undefined) return;
    headers = request.headers;
    if (request.url === '/v1/traces') spans.push(...spansIn(JSON.parse(body) as Request));
    response.setHeader('Content-Type', 'application/json').end('{}');
  });
  return {
    /** Settings that make a node send its traces here, soon. */
    settings: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=acme',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      OTEL_BSP_SCHEDULE_DELAY: '100',
    },
    spans,
    /** Headers of the latest request. */
    get headers() {
      return headers;
    },
    stop: close,
  };
}

function spansIn({ resourceSpans }: Request): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const spans = scopeSpans.flatMap((scope) => scope.spans);
    return spans.map((span) => ({
      ...span,
      parentSpanId: span.parentSpanId || undefined,
      attributes: valuesOf(span.attributes ?? []),
      resource: valuesOf(resource.attributes),
      status: span.status?.code,
    }));
  });
}

function valuesOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
