// Settings of tracing: the standard variables of OpenTelemetry that decide whether and how traces are sent.
// Its libraries read all others (`OTEL_SERVICE_NAME`, `OTEL_TRACES_SAMPLER` and so on).

/** How traces are sent; undefined if none are. */
export type TracingSettings = { readonly protocol: 'http/json' | 'http/protobuf' } | undefined;

type Environment = Readonly<Record<string, string | undefined>>;

const ENDPOINTS = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'];
const PROTOCOLS = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'];

/** Reads the settings; calls `refuse` with a line that explains a wrong one. */
export function readTracing(
  environment: Environment,
  refuse: (line: string) => never,
): TracingSettings {
  const endpoint = ENDPOINTS.find((name) => environment[name]);
  const isDisabled = environment.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true';
  if (endpoint === undefined || isDisabled) return undefined;
  const exporter = environment.OTEL_TRACES_EXPORTER || 'otlp';
  if (exporter === 'none') return undefined;
  if (exporter !== 'otlp') refuse('OTEL_TRACES_EXPORTER: must be otlp or none');
  if (!/^https?:\/\/[^\s/?#]+[^\s?#]*$/.test(environment[endpoint] ?? '')) {
    refuse(`${endpoint}: must be an http:// or https:// address`);
  }
  const named = PROTOCOLS.find((name) => environment[name]);
  const protocol = named === undefined ? 'http/protobuf' : environment[named];
  if (protocol === 'http/protobuf' || protocol === 'http/json') return { protocol };
  return refuse(`${named}: must be http/protobuf or http/json`);
}
