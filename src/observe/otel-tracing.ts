// Traces by OpenTelemetry, sent by OTLP over HTTP. Imported only if tracing is on: the libraries take memory,
// and following a request slows down every promise.

import {
  type Context,
  context,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { TracingSettings } from '../settings/tracing-settings.ts';
import type { RareLog } from './rare-log.ts';
import { openTraceExporter } from './trace-exporter.ts';
import type { NewSpan, OpenSpan, SpanAttributes, Tracing } from './tracing.ts';

/** Maximum wait for the last spans at a stop. */
const STOP_MS_MAX = 1000;
const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
} as const;

export type OtelOptions = {
  readonly protocol: NonNullable<TracingSettings>['protocol'];
  /** Attributes of this process, in addition to those of the environment. */
  readonly resource: Readonly<Record<string, string>>;
  readonly log: RareLog;
};

/**
 * Starts to send traces. Spans wait in a queue of 2,048 (`OTEL_BSP_MAX_QUEUE_SIZE`); if it is full, or no
 * collector takes them, they are dropped, and nothing waits for them.
 */
export async function startOtelTracing({ protocol, resource, log }: OtelOptions): Promise<Tracing> {
  setGlobalErrorHandler((error) => {
    const err = error instanceof Error ? error : new Error(String(error));
    log.warnAbout('traces', { err }, 'traces could not be sent');
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'sluice', ...resource }).merge(
      detectResources({ detectors: [envDetector] }),
    ),
    spanProcessors: [new BatchSpanProcessor(await openTraceExporter(protocol))],
  });
  const tracer = provider.getTracer('sluice');
  const propagator = new W3CTraceContextPropagator();
  const parentOf = (header: NewSpan['header']): Context =>
    header === undefined
      ? context.active()
      : propagator.extract(ROOT_CONTEXT, header, {
          keys: () => ['traceparent', 'tracestate'],
          get: (read, name) => read(name) || undefined,
        });
  return {
    begin({ name, kind, attributes, header }) {
      const options = { kind: KINDS[kind], attributes: present(attributes) };
      const parent = parentOf(header);
      const span = tracer.startSpan(name, options, parent);
      const inside = trace.setSpan(parent, span);
      return {
        run: (work) => context.with(inside, work),
        end(more, error) {
          span.setAttributes(present(more));
          if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
          span.end();
        },
      } satisfies OpenSpan;
    },
    isTraced: () => trace.getSpan(context.active()) !== undefined,
    async stop() {
      const late = new Promise((resolve) => setTimeout(resolve, STOP_MS_MAX).unref());
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
    },
  };
}

/** Returns the defined attributes. */
function present(attributes: SpanAttributes): Record<string, string | number> {
  const entries = Object.entries(attributes).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Record<string, string | number>;
}
