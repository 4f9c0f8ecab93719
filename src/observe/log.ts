// The log: JSON lines on stdout. Callers log what happened and ids, never headers, bodies or addresses
// of stores; the redaction below is the second line of defence, not the first.

import { type Logger, pino } from 'pino';
import type { LogLevel } from '../config.ts';

export type Log = Pick<Logger, 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal'>;

const SECRET_FIELDS = ['authorization', 'secret', 'token', 'password', 'adminToken', 'secretKey'];

/** Builds the logger; every line carries the process id and `fields`, which tell processes apart. */
export function createLog(level: LogLevel, fields: Readonly<Record<string, unknown>> = {}): Log {
  return pino({
    level,
    base: { pid: process.pid, ...fields },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: '[hidden]' },
    // `connectionString` and friends can hang off a driver's error: keep what explains, drop the rest.
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

/** `scheme://user:password@host` loses what stands before the `@`. */
function withoutCredentials(text: string): string {
  return text.replace(/\/\/[^/@\s]*@/g, '//[hidden]@');
}
