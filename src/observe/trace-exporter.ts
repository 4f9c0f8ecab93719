// Sends spans to a collector by OTLP over HTTP. OpenTelemetry's libraries read the variables for it and write
// the bodies. Their own sender is not used, because an export never settles after an answer `101 Switching
// Protocols` or endless 1xx answers, and after thirty such exports it refuses all others.

import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { ExportResultCode } from '@opentelemetry/core';
import { convertLegacyHttpOptions } from '@opentelemetry/otlp-exporter-base/node-http';
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import { callOut, type OutgoingCall, retryAfterMs } from '../flow/outgoing-call.ts';
import { backOffMs, pause } from '../flow/pause.ts';
import type { TracingSettings } from '../settings/tracing-settings.ts';

const FORMATS = {
  'http/json': { type: 'application/json', serializer: JsonTraceSerializer },
  'http/protobuf': { type: 'application/x-protobuf', serializer: ProtobufTraceSerializer },
} as const;
/** Statuses after which OTLP asks for the same spans again. */
const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504]);
/** Maximum number of tries of an export. */
const TRIES_MAX = 6;
/** Wait before the next try, unless the collector asks for another; a part of it is random. */
const BACK_OFF = { minMs: 1000, maxMs: 5000 };
const RANDOM_PART = 0.2;
/** Maximum bytes that are read of an answer; only its status counts. */
const ANSWER_BYTES_MAX = 64 * 1024;
const compress = promisify(gzip);

/** Opens an exporter for the collector that the environment names. Each export settles within its timeout. */
export async function openTraceExporter(
  protocol: NonNullable<TracingSettings>['protocol'],
): Promise<SpanExporter> {
  const { type, serializer } = FORMATS[protocol];
  const required = { 'Content-Type': type };
  const settings = convertLegacyHttpOptions({}, 'TRACES', 'v1/traces', required);
  const isGzip = settings.compression === 'gzip';
  const call = {
    ...{ url: settings.url, method: 'POST', answerBytesMax: ANSWER_BYTES_MAX, isPartEnough: true },
    headers: {
      'User-Agent': 'Sluice',
      ...(await settings.headers()),
      ...(isGzip && { 'Content-Encoding': 'gzip' }),
    },
    connection: { agent: await settings.agentFactory(new URL(settings.url).protocol) },
  };
  const send = async (spans: ReadableSpan[]): Promise<void> => {
    const bytes = serializer.serializeRequest(spans) ?? new Uint8Array();
    const body = isGzip ? await compress(bytes) : bytes;
    await deliver({ ...call, body }, settings.timeoutMillis);
  };
  return {
    export(spans, conclude) {
      send(spans).then(
        () => conclude({ code: ExportResultCode.SUCCESS }),
        (error: Error) => conclude({ code: ExportResultCode.FAILED, error }),
      );
    },
    shutdown: async () => undefined,
  };
}

/** Resolves once the collector has taken the body; rejects when it refuses, or when the time is over. */
async function deliver(call: Omit<OutgoingCall, 'timeoutMs'>, timeoutMs: number): Promise<void> {
  const endsAt = performance.now() + timeoutMs;
  for (let tries = 1; ; tries += 1) {
    const failure = await attempt({ ...call, timeoutMs: Math.max(0, endsAt - performance.now()) });
    if (failure === undefined) return;
    const pauseMs = backOffMs(BACK_OFF, tries) * (1 - RANDOM_PART * Math.random());
    const waitMs = failure.retryAfterMs ?? pauseMs;
    const isLast = tries === TRIES_MAX || performance.now() + waitMs >= endsAt;
    if (isLast || !failure.isPassing) throw failure.error;
    await pause(waitMs);
  }
}

type Failure = {
  readonly error: unknown;
  /** Whether another try may succeed. */
  readonly isPassing: boolean;
  /** Wait that the collector asks for. */
  readonly retryAfterMs?: number | undefined;
};

/** Makes one try; returns undefined when the collector took the body. */
async function attempt(call: OutgoingCall): Promise<Failure | undefined> {
  try {
    const { status, headers } = await callOut(call);
    if (status >= 200 && status < 300) return undefined;
    return {
      error: new Error(`the collector answered ${status}`),
      isPassing: PASSING.has(status),
      retryAfterMs: retryAfterMs(headers['retry-after'], Date.now()),
    };
  } catch (error) {
    return { error, isPassing: true };
  }
}
