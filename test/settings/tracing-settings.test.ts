// Tests when traces are sent, and which values of the standard variables stop the start.

import { expect, it } from 'vitest';
import { ConfigError, readConfig, readNearSettings } from '../../src/settings/settings.ts';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

it.each<[NodeJS.ProcessEnv, unknown]>([
  [{}, undefined],
  [{ OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'always_on' }, undefined],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, undefined],
  [ENDPOINT, { protocol: 'http/protobuf' }],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c/v1/traces' }, { protocol: 'http/protobuf' }],
  [{ ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }, { protocol: 'http/json' }],
  [
    {
      ...ENDPOINT,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
    },
    { protocol: 'http/json' },
  ],
  [{ ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' }, undefined],
  [{ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }, undefined],
  // What is off is not looked at: the variables may be meant for other programs.
  [{ ...ENDPOINT, OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, undefined],
])('with %j tracing is %j', (environment, tracing) => {
  expect(readConfig(environment).tracing).toEqual(tracing);
});

it.each<[string, NodeJS.ProcessEnv]>([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }],
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://' }],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }],
  ['OTEL_TRACES_EXPORTER', { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'zipkin' }],
])('%s cannot be wrong where traces are asked for: %j', (variable, environment) => {
  const read = () => readConfig(environment);
  expect(read).toThrow(ConfigError);
  expect(read).toThrow(new RegExp(`^${variable}: [^\\n]+$`));
});

it('no variable of OpenTelemetry is taken for a misspelt setting', () => {
  const names = ['OTEL_SERVICE_NAME', 'OTEL_LOG_LEVEL', 'OTEL_HOST', 'OTEL_WORKERS'];
  const environment = Object.fromEntries(names.map((name) => [name, 'x']));
  expect(readNearSettings(environment)).toEqual([]);
});
