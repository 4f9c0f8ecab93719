// Log of the service as JSON lines on stdout. Callers log events and ids, never headers, bodies or store
// URLs; the redaction below is only a second line of defence.

import { type Logger, pino } from 'pino';
import { Unavailable } from '../contract/store-fault.ts';
import type { LogLevel } from '../settings/settings.ts';

export type Log = Pick<Logger, 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal'>;

const SECRET_FIELDS = ['authorization', 'secret', 'token', 'password', 'adminTokens', 'secretKeys'];

/** Builds the logger. Every line has the process id and `fields`, which identify the process of a node. */
export function createLog(level: LogLevel, fields: Readonly<Record<string, unknown>> = {}): Log {
  return pino({
    level,
    base: { pid: process.pid, ...fields },
    // A word, which people and all log collectors understand without a table of level numbers.
    formatters: { level: (label) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: '[hidden]' },
    // A driver's error can have properties such as `connectionString`: only the explanatory ones are kept.
    serializers: { err: describeError, detail: withoutCredentials },
  });
}

function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  // The fault is expected, and a stack would say nothing about the store.
  if (error instanceof Unavailable) {
    const { name: type, message, detail, cause } = error;
    const { code } = (cause ?? {}) as NodeJS.ErrnoException;
    return { type, message, code, detail: detail && withoutCredentials(detail) };
  }
  return {
    type: error.name,
    message: withoutCredentials(error.message),
    stack: error.stack === undefined ? undefined : withoutCredentials(error.stack),
    code: (error as NodeJS.ErrnoException).code,
    cause: error.cause === undefined ? undefined : describeError(error.cause),
  };
}

/** Removes the credentials from every `scheme://user:password@host` in a text. */
function withoutCredentials(text: string): string {
  return text.replace(/\/\/[^/@\s]*@/g, '//[hidden]@');
}
