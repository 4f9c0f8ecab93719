// The one reader of the environment. Settings are parsed once, frozen, and handed on as values; a wrong
// one stops the start with a line that names the variable.

import { z } from 'zod';

export type Config = Readonly<{
  host: string;
  port: number;
  /** Undefined: the embedded ledger in `dataDir`. */
  databaseUrl: string | undefined;
  /** Undefined: the in-process engine. */
  redisUrl: string | undefined;
  dataDir: string;
  adminToken: string | undefined;
  secretKey: string | undefined;
  /** Undefined: the address the service turns out to listen on. */
  publicUrl: string | undefined;
  /** Serving processes; more than 1 only where both stores can be shared. */
  workers: number;
  deviceRetentionDays: number;
  adoptionRetentionDays: number;
  trustProxy: number;
  logLevel: LogLevel;
}>;

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A setting that cannot be used; the message is one line that begins with the variable's name. */
export class ConfigError extends Error {}

const POSTGRES_SCHEMES = ['postgres:', 'postgresql:'];
const REDIS_SCHEMES = ['redis:', 'rediss:'];
const HTTP_SCHEMES = ['http:', 'https:'];

const ENVIRONMENT = z.object({
  HOST: text('127.0.0.1'),
  PORT: whole(8080, 0, 65_535),
  DATABASE_URL: optionalText().refine(
    (value) => value === undefined || isUrl(value, POSTGRES_SCHEMES),
    'must be a postgres:// address',
  ),
  REDIS_URL: optionalText().refine(
    (value) => value === undefined || isRedisAddress(value),
    'must be a redis:// or rediss:// address, or several of them separated by commas',
  ),
  DATA_DIR: text('./data'),
  // Anything else could be set but never be sent in a header, or be quoted by the error that says so.
  ADMIN_TOKEN: optionalText().refine(
    (value) => value === undefined || /^[\x21-\x7e]+$/.test(value),
    'must be visible ASCII characters, without spaces',
  ),
  SECRET_KEY: optionalText(),
  PUBLIC_URL: optionalText().refine(
    (value) => value === undefined || (isUrl(value, HTTP_SCHEMES) && !/[?#]/.test(value)),
    'must be an http:// or https:// address, without query and fragment',
  ),
  WORKERS: whole(1, 1, 64),
  DEVICE_RETENTION_DAYS: whole(180, 1, 36_500),
  ADOPTION_RETENTION_DAYS: whole(400, 1, 36_500),
  TRUST_PROXY: whole(0, 0, 16),
  LOG_LEVEL: z
    .string()
    .optional()
    .transform((value) => value || 'info')
    .pipe(z.enum(LOG_LEVELS, { error: `must be one of ${LOG_LEVELS.join(', ')}` })),
});

/** Reads the settings, or throws a `ConfigError`. An empty variable counts as unset. */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const parsed = ENVIRONMENT.safeParse(environment);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new ConfigError(`${issue?.path.join('.')}: ${issue?.message}`);
  }
  const settings = parsed.data;
  if (settings.WORKERS > 1) {
    // Refused rather than ignored: an operator who asks for four processes must not silently get one.
    const missing = (['REDIS_URL', 'DATABASE_URL'] as const).filter((name) => !settings[name]);
    if (missing.length > 0) {
      throw new ConfigError(
        `WORKERS: more than 1 needs ${missing.join(' and ')}: the processes share their state there`,
      );
    }
  }
  return Object.freeze({
    host: settings.HOST,
    port: settings.PORT,
    databaseUrl: settings.DATABASE_URL,
    redisUrl: settings.REDIS_URL,
    dataDir: settings.DATA_DIR,
    adminToken: settings.ADMIN_TOKEN,
    secretKey: settings.SECRET_KEY,
    publicUrl: settings.PUBLIC_URL?.replace(/\/+$/, ''),
    workers: settings.WORKERS,
    deviceRetentionDays: settings.DEVICE_RETENTION_DAYS,
    adoptionRetentionDays: settings.ADOPTION_RETENTION_DAYS,
    trustProxy: settings.TRUST_PROXY,
    logLevel: settings.LOG_LEVEL,
  });
}

export type ClientConfig = Readonly<{
  url: string;
  adminToken: string | undefined;
  /** Where an embedded service leaves its generated token. */
  dataDir: string;
}>;

/** What the command line needs to find a running service; throws a `ConfigError`. */
export function readClientConfig(environment: NodeJS.ProcessEnv = process.env): ClientConfig {
  const config = readConfig({ ...environment, WORKERS: undefined });
  const url = environment.SLUICE_URL || `http://${reachableHost(config.host)}:${config.port}`;
  if (!isUrl(url, HTTP_SCHEMES)) {
    throw new ConfigError('SLUICE_URL: must be an http:// or https:// address');
  }
  return Object.freeze({
    url: url.replace(/\/+$/, ''),
    adminToken: config.adminToken,
    dataDir: config.dataDir,
  });
}

/** A wildcard address is one to listen on, not one to call. */
export function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

function text(fallback: string) {
  return z
    .string()
    .optional()
    .transform((value) => value || fallback);
}

function optionalText() {
  return z
    .string()
    .optional()
    .transform((value) => value || undefined);
}

function whole(fallback: number, min: number, max: number) {
  const reason = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .optional()
    .transform((value) => (value ? value.trim() : String(fallback)))
    .refine((value) => /^\d{1,6}$/.test(value), reason)
    .transform(Number)
    .refine((value) => value >= min && value <= max, reason);
}

/** One address, or the nodes of a cluster; all but the first may be bare `host:port`. */
function isRedisAddress(value: string): boolean {
  const parts = value.split(',').map((part) => part.trim());
  const [first = '', ...others] = parts.filter((part) => part !== '');
  const urls = others.map((part) => (part.includes('://') ? part : `redis://${part}`));
  return [first, ...urls].every((url) => isUrl(url, REDIS_SCHEMES));
}

function isUrl(value: string, schemes: readonly string[]): boolean {
  return URL.canParse(value) && schemes.includes(new URL(value).protocol);
}
