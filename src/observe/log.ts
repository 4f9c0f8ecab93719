// Log of the service as JSON lines on stdout. Callers log what happened and ids, never headers, bodies or
// addresses of stores; the redaction below is the second line of defence, not the first.

import { type Logger, pino } from 'pino';
import type { LogLevel } from '../settings/settings.ts';

export type Log = Pick<Logger, 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal'>;

const SECRET_FIELDS = ['authorization', 'secret', 'token', 'password', 'adminTokens', 'secretKeys'];

/**
 * Builds the logger. Every line carries the process id and `fields`, which identify the process of a node.
 */
export function createLog(level: LogLevel, fields: Readonly<Record<string, unknown>> = {}): Log {
  return pino({
    level,
    base: { pid: process.pid, ...fields },
    // A word is read without a table, and by every collector of logs.
    formatters: { level: (label) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: '[hidden]' },
    // A driver's error can carry properties such as `connectionString`: only the explanatory ones are kept.
    serializers: { err: describeError },
  });
}

function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
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
