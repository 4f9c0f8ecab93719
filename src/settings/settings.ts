// Settings of the service from the environment, which no other file reads. They are parsed once, frozen and
// passed on as values; those in files are read again when an operator asks for it. A wrong setting stops the
// start with a line that names the variable.

import { readFileSync, statSync } from 'node:fs';
import { z } from 'zod';
import { parseUrl } from '../contract/address.ts';
import {
  HTTP_SCHEMES,
  isDatabaseAddress,
  isLoopback,
  isRedisAddress,
  isUrl,
  PORT_MAX,
  parseListenAddress,
  takesWrites,
  WRITABLE_SESSIONS,
} from './address.ts';
import { type NearSetting, nearSettings } from './misspelt-settings.ts';
import { NOTIFY_SHAPE, type NotifySettings, readNotify } from './notify-settings.ts';
import { OIDC_ENVIRONMENT, type OidcSettings, readOidc } from './oidc-settings.ts';
import { readTracing, type TracingSettings } from './tracing-settings.ts';

// Shapes of the settings' values: what a variable may contain, and how it is converted.

/** Minimum length of a secret if others can reach the service. */
const SECRET_LENGTH_MIN = 32;
/** Maximum number of values that a secret has at a time; trying each of them takes the process time. */
const SECRETS_MAX = 8;

/** Text, or the fallback if it is unset or empty. */
function text(fallback: string) {
  return z
    .string()
    .optional()
    .transform((value) => value || fallback);
}

/** Text; undefined if it is unset or empty. */
function optionalText() {
  return z
    .string()
    .optional()
    .transform((value) => value || undefined);
}

/** Parses the values of a secret, separated by commas: during a change, the old one is valid as well. */
function severalSecrets(
  value: string | undefined,
  { addIssue }: z.RefinementCtx,
): readonly string[] {
  if (value === undefined) return [];
  const parts = value.split(',');
  if (parts.length === 1) return parts;
  const min = SECRET_LENGTH_MIN;
  // A secret that happens to contain commas must not become several that can be guessed.
  if (parts.some(({ length }) => length < min)) {
    addIssue(`commas separate several values, of which each must have at least ${min} characters`);
  } else if (parts.some((part) => part !== part.trim())) {
    addIssue('the commas between several values must have no spaces beside them');
  } else if (parts.length > SECRETS_MAX) addIssue(`must have at most ${SECRETS_MAX} values`);
  return parts;
}

function oneOf<const Values extends readonly [string, ...string[]]>(
  values: Values,
  fallback: Values[number],
) {
  return z
    .string()
    .optional()
    .transform((value) => value || fallback)
    .pipe(z.enum(values, { error: `must be one of ${values.join(', ')}` }));
}

/** Whole number within bounds; if it is unset, the fallback, which may be undefined. */
function whole<Fallback extends number | undefined>(fallback: Fallback, min: number, max: number) {
  const reason = `must be a whole number from ${min} to ${max}`;
  return optionalText()
    .refine((value) => value === undefined || /^\s*\d{1,6}\s*$/.test(value), reason)
    .transform((value) => (value === undefined ? fallback : Number(value)))
    .refine((value) => value === undefined || (value >= min && value <= max), reason);
}

const ASCII = /^[\x20-\x7e]*$/;

/** Returns an address in ASCII: its host is encoded by Punycode, its path by percent signs. */
function inAscii(url: string): string | undefined {
  return parseUrl(url)?.href.replace(/\/+$/, '');
}

/** Base URL without trailing slashes, in ASCII because it is sent in headers. ASCII stays as written. */
function baseUrl() {
  return optionalText()
    .refine(
      (value) => value === undefined || (isUrl(value, HTTP_SCHEMES) && !/[?#]/.test(value)),
      'must be an http:// or https:// address, without query and fragment',
    )
    .transform((value) => value?.replace(/\/+$/, ''))
    .refine(
      // A cookie's path ends at a semicolon, and a path that begins with two slashes names a host.
      (value) => value === undefined || !/[;&\\]|\/\//.test(value.replace(/^\w+:\/\//, '')),
      'must have no ; & \\ or // in its path',
    )
    .transform((value) => (value === undefined || ASCII.test(value) ? value : inAscii(value)));
}

export type Config = Readonly<{
  host: string;
  port: number;
  /** URL of PostgreSQL; undefined for the embedded ledger in `dataDir`. */
  databaseUrl: string | undefined;
  /** URL of Redis; undefined for the in-process engine. */
  redisUrl: string | undefined;
  /** First part of the names of all keys and pub/sub channels in Redis. */
  redisPrefix: string;
  /** Maximum number of connections to PostgreSQL of each process. */
  databasePool: number;
  dataDir: string;
  /** Accepted admin tokens; empty if none is set. Clients send the first. */
  adminTokens: readonly string[];
  /** Keys that open sealed secrets; empty if none is set. The first seals. */
  secretKeys: readonly string[];
  /** Right to create organizations: of the operator only, or of every account. */
  organizationsBy: (typeof ORGANIZATION_MAKERS)[number];
  /** The OpenID Connect provider that people sign in with; undefined for none. */
  oidc: OidcSettings | undefined;
  /** Whether people may sign in with passwords. */
  arePasswordsOn: boolean;
  /** Base URL of the service for its clients; undefined for the address that it listens on. */
  publicUrl: string | undefined;
  /** Own address of console, API, metrics and health; undefined for the port of the service. */
  adminListen: ListenAddress | undefined;
  /** Base URL of the console; undefined for `publicUrl` without `adminListen`, else the request's host. */
  adminUrl: string | undefined;
  /** Number of serving processes; above 1 only if both stores can be shared. */
  workers: number;
  /** The wished HTTP engine: `auto` means uWebSockets.js if its binary loads, else Node's. */
  httpEngine: (typeof HTTP_ENGINES)[number];
  deviceRetentionDays: number;
  /** Maximum delay of a device's `lastSeen`, in seconds. */
  deviceFreshnessSeconds: number;
  /** Number of version changes kept per device. */
  deviceHistory: number;
  adoptionRetentionDays: number;
  /** Days for which entries of the audit are kept; undefined for ever. */
  auditDays: number | undefined;
  /** Number of proxies in front of the service whose forwarded addresses are trusted. */
  trustProxy: number;
  /** Maximum number of new devices per client network and minute that checks record; 0: no limit. */
  newDevicesPerAddressPerMinute: number;
  /** Maximum number of new devices per app and minute that checks record; 0: no limit. */
  newDevicesPerAppPerMinute: number;
  logLevel: LogLevel;
  hasAccessLog: boolean;
  /** How traces are sent; undefined if none are. */
  tracing: TracingSettings;
  /** Milliseconds for which a stopping node keeps its port open, not ready, before it stops. */
  drainMs: number;
  /** Milliseconds without an answer of any store after which the node is not ready; undefined: no limit. */
  readyUnconfirmedMsMax: number | undefined;
  edge: EdgeSettings;
  notify: NotifySettings;
  /** Contents of the files of settings, for child processes. */
  files: FileValues;
}>;

export type EdgeSettings = Readonly<{
  /** Base URL of the service that an edge follows. */
  upstream: string | undefined;
  /** Output of `sluice edge-token create`. */
  token: string | undefined;
  /** Maximum size of the journal of check-ins, in MiB. */
  journalMb: number;
}>;

/** Settings that may be in a file, which `NAME_FILE` names. */
const FILE_SETTINGS = [
  'ADMIN_TOKEN',
  'SECRET_KEY',
  'DATABASE_URL',
  'REDIS_URL',
  'EDGE_TOKEN',
  'SMTP_URL',
  'OIDC_CLIENT_SECRET',
] as const;
export type FileValues = Readonly<Partial<Record<(typeof FILE_SETTINGS)[number], string>>>;

const ORGANIZATION_MAKERS = ['operator', 'anyone'] as const;
export type ListenAddress = { readonly host: string; readonly port: number };

const HTTP_ENGINES = ['auto', 'uws', 'node'] as const;

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A setting that cannot be used; the message is one line that begins with the variable's name. */
export class ConfigError extends Error {}

const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

const ENVIRONMENT = z.object({
  HOST: text('127.0.0.1'),
  PORT: whole(8080, 0, PORT_MAX),
  DATABASE_URL: optionalText()
    .refine(
      (value) => value === undefined || isDatabaseAddress(value),
      'must be a postgres:// address; commas separate several hosts',
    )
    .refine(
      (value) => value === undefined || takesWrites(value),
      `target_session_attrs must be one of ${WRITABLE_SESSIONS.join(', ')}: the record takes writes`,
    ),
  REDIS_URL: optionalText().refine(
    (value) => value === undefined || isRedisAddress(value),
    'must be a redis:// or rediss:// address, several of them separated by commas, ' +
      'or redis+sentinel://h1,h2/name',
  ),
  // The minimum is one more than any kind of call may use at a time, so that none can take all connections.
  DATABASE_POOL: whole(10, 5, 200),
  // Braces would select the node of a cluster; a colon could make the names of two deployments equal.
  REDIS_PREFIX: text('sluice').refine(
    (value) => /^[\w.-]{1,64}$/.test(value),
    'must be 1 to 64 ASCII letters, digits, hyphens, underscores or dots',
  ),
  DATA_DIR: text('./data'),
  // Other characters cannot be sent in a header, and the client's error would quote the token.
  ADMIN_TOKEN: optionalText()
    .refine(
      (value) => value === undefined || /^[\x21-\x7e]+$/.test(value),
      'must be visible ASCII characters, without spaces',
    )
    .transform(severalSecrets),
  SECRET_KEY: optionalText().transform(severalSecrets),
  ADMIN_TOKEN_FILE: optionalText(),
  SECRET_KEY_FILE: optionalText(),
  DATABASE_URL_FILE: optionalText(),
  REDIS_URL_FILE: optionalText(),
  EDGE_UPSTREAM: baseUrl(),
  EDGE_TOKEN: optionalText(),
  EDGE_TOKEN_FILE: optionalText(),
  EDGE_JOURNAL_MB: whole(1024, 16, 999_999),
  ...NOTIFY_SHAPE,
  ...OIDC_ENVIRONMENT,
  ORGANIZATIONS_BY: oneOf(ORGANIZATION_MAKERS, 'operator'),
  PUBLIC_URL: baseUrl(),
  ADMIN_LISTEN: optionalText().transform((value, { addIssue }) => {
    const address = value === undefined ? undefined : parseListenAddress(value.trim());
    if (value !== undefined && address === undefined) {
      addIssue('must be host:port, such as 127.0.0.1:9090, or [::1]:9090');
    }
    return address;
  }),
  ADMIN_URL: baseUrl(),
  WORKERS: whole(1, 1, 64),
  HTTP_ENGINE: oneOf(HTTP_ENGINES, 'auto'),
  DEVICE_RETENTION_DAYS: whole(180, 1, 36_500),
  DEVICE_FRESHNESS_SECONDS: whole(300, 10, 86_400),
  // The database has 100 slots per device: a version change takes the slot of its number modulo 100.
  DEVICE_HISTORY: whole(10, 1, 100),
  ADOPTION_RETENTION_DAYS: whole(400, 1, 36_500),
  AUDIT_DAYS: whole(undefined, 1, 36_500),
  TRUST_PROXY: whole(0, 0, 16),
  NEW_DEVICES_PER_ADDRESS_PER_MINUTE: whole(1200, 0, 999_999),
  NEW_DEVICES_PER_APP_PER_MINUTE: whole(60_000, 0, 999_999),
  DRAIN_SECONDS: whole(0, 0, 3600),
  READY_MAX_UNCONFIRMED_SECONDS: whole(0, 0, 86_400),
  LOG_LEVEL: oneOf(LOG_LEVELS, 'info'),
  ACCESS_LOG: oneOf(['off', 'on'], 'off'),
});

/**
 * Reads the settings; throws a `ConfigError` for a wrong one. An empty variable counts as unset. `files`
 * replaces the contents of the files that the environment names.
 */
export function readConfig(
  environment: NodeJS.ProcessEnv = process.env,
  files: FileValues = readFiles(environment),
): Config {
  const config = readAnyConfig(environment, files);
  refuseLonelyWorkers(config);
  return config;
}

/** Reads the settings like `readConfig`, but accepts any number of processes, which an edge checks itself. */
export function readAnyConfig(
  environment: NodeJS.ProcessEnv = process.env,
  files: FileValues = readFiles(environment),
): Config {
  const config = readSettings(environment, files);
  refuseShortSecrets(config);
  return config;
}

function readFiles(environment: NodeJS.ProcessEnv): FileValues {
  const values: Partial<Record<keyof FileValues, string>> = {};
  for (const name of FILE_SETTINGS) {
    const variable = `${name}_FILE`;
    const path = environment[variable];
    if (!path) continue;
    if (environment[name]) throw new ConfigError(`${variable}: ${name} is set as well`);
    try {
      values[name] = readSettingFile(path);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new ConfigError(`${variable}: ${reason}`, { cause: error });
    }
  }
  return Object.freeze(values);
}

/** Returns the variables that are not read, but whose names are close to a setting's. */
export function readNearSettings(
  environment: NodeJS.ProcessEnv = process.env,
): readonly NearSetting[] {
  return nearSettings(environment, [...Object.keys(ENVIRONMENT.shape), ...CLIENT_VARIABLES]);
}

function readSettings(environment: NodeJS.ProcessEnv, files: FileValues): Config {
  const parsed = ENVIRONMENT.safeParse({ ...environment, ...files });
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const name = String(issue?.path[0]);
    throw new ConfigError(`${name in files ? `${name}_FILE` : name}: ${issue?.message}`);
  }
  const settings = parsed.data;
  const { HOST: host, PORT: port, ADMIN_LISTEN: adminListen } = settings;
  if (adminListen !== undefined && isSameAddress({ host, port }, adminListen)) {
    throw new ConfigError('ADMIN_LISTEN: must be another address than that of HOST and PORT');
  }
  return Object.freeze({
    host,
    port,
    databaseUrl: settings.DATABASE_URL,
    redisUrl: settings.REDIS_URL,
    databasePool: settings.DATABASE_POOL,
    redisPrefix: settings.REDIS_PREFIX,
    dataDir: settings.DATA_DIR,
    adminTokens: settings.ADMIN_TOKEN,
    secretKeys: settings.SECRET_KEY,
    organizationsBy: settings.ORGANIZATIONS_BY,
    ...readOidc(settings, refuse),
    publicUrl: settings.PUBLIC_URL,
    adminListen,
    adminUrl: settings.ADMIN_URL,
    workers: settings.WORKERS,
    httpEngine: settings.HTTP_ENGINE,
    deviceRetentionDays: settings.DEVICE_RETENTION_DAYS,
    deviceFreshnessSeconds: settings.DEVICE_FRESHNESS_SECONDS,
    deviceHistory: settings.DEVICE_HISTORY,
    adoptionRetentionDays: settings.ADOPTION_RETENTION_DAYS,
    auditDays: settings.AUDIT_DAYS,
    trustProxy: settings.TRUST_PROXY,
    newDevicesPerAddressPerMinute: settings.NEW_DEVICES_PER_ADDRESS_PER_MINUTE,
    newDevicesPerAppPerMinute: settings.NEW_DEVICES_PER_APP_PER_MINUTE,
    drainMs: settings.DRAIN_SECONDS * 1000,
    logLevel: settings.LOG_LEVEL,
    hasAccessLog: settings.ACCESS_LOG === 'on',
    tracing: readTracing(environment, refuse),
    readyUnconfirmedMsMax: settings.READY_MAX_UNCONFIRMED_SECONDS * 1000 || undefined,
    edge: Object.freeze({
      upstream: settings.EDGE_UPSTREAM,
      token: settings.EDGE_TOKEN,
      journalMb: settings.EDGE_JOURNAL_MB,
    }),
    notify: readNotify(settings, refuse),
    files,
  });
}

function refuse(line: string): never {
  throw new ConfigError(line);
}

/**
 * Refuses several processes without stores to share. The setting is not ignored: an operator who asks for
 * four processes must not silently get one.
 */
function refuseLonelyWorkers({ workers, redisUrl, databaseUrl }: Config): void {
  if (workers === 1) return;
  const stores = { REDIS_URL: redisUrl, DATABASE_URL: databaseUrl };
  const missing = Object.entries(stores).flatMap(([name, url]) => (url === undefined ? name : []));
  if (missing.length === 0) return;
  const reason = 'the processes share their state there';
  throw new ConfigError(`WORKERS: more than 1 needs ${missing.join(' and ')}: ${reason}`);
}

/** Refuses secrets that can be guessed, unless only this machine can reach the service. */
function refuseShortSecrets({ host, adminListen, adminTokens, secretKeys }: Config): void {
  if (isLoopback(host) && isLoopback(adminListen?.host ?? host)) return;
  const secrets = { ADMIN_TOKEN: adminTokens, SECRET_KEY: secretKeys };
  for (const [name, values] of Object.entries(secrets)) {
    if (values.every(({ length }) => length >= SECRET_LENGTH_MIN)) continue;
    const reason = `must have at least ${SECRET_LENGTH_MIN} characters`;
    throw new ConfigError(`${name}: ${reason}, unless the service listens on loopback only`);
  }
}

/** Unsets the provider, which the command line does not use: it may be unable to read the secret's file. */
const NO_OIDC = Object.fromEntries(Object.keys(OIDC_ENVIRONMENT).map((name) => [name, undefined]));

/** Variables that the command line reads and the service does not. */
const CLIENT_VARIABLES = ['SLUICE_URL', 'SLUICE_KEY'];

type ClientConfig = Readonly<{
  /** Base URL of the management API, the same as for devices. */
  managementUrl: string;
  /** Base URL of the console API; ADMIN_LISTEN gives it its own. */
  consoleUrl: string;
  /** Whether `SLUICE_URL` gives the URLs; else they are those of a service on this machine. */
  isUrlGiven: boolean;
  adminToken: string | undefined;
  apiKey: string | undefined;
  /** Directory in which an embedded service keeps its generated token. */
  dataDir: string;
}>;

/** Reads the settings of the command line; throws a `ConfigError` for a wrong one. */
export function readClientConfig(environment: NodeJS.ProcessEnv = process.env): ClientConfig {
  // Only the service's account may be able to read the other files.
  const { ADMIN_TOKEN, ADMIN_TOKEN_FILE } = environment;
  const files = readFiles({ ADMIN_TOKEN, ADMIN_TOKEN_FILE });
  const config = readSettings({ ...environment, ...NO_OIDC }, files);
  const given = environment.SLUICE_URL || undefined;
  if (given !== undefined && !isUrl(given, HTTP_SCHEMES)) {
    throw new ConfigError('SLUICE_URL: must be an http:// or https:// address');
  }
  const url = given?.replace(/\/+$/, '');
  return Object.freeze({
    managementUrl: url ?? urlOf(config),
    consoleUrl: url ?? urlOf(config.adminListen ?? config),
    isUrlGiven: url !== undefined,
    adminToken: config.adminTokens[0],
    apiKey: environment.SLUICE_KEY || undefined,
    dataDir: config.dataDir,
  });
}

function urlOf({ host, port }: ListenAddress): string {
  return `http://${reachableHost(host)}:${port}`;
}

/** Returns the host for a URL: a wildcard address, which cannot be called, becomes loopback. */
export function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** Returns the base URL of the console if a setting names one: links and cookies depend on it. */
export function consoleUrlOf({ adminUrl, adminListen, publicUrl }: Config): string | undefined {
  return adminUrl ?? (adminListen === undefined ? publicUrl : undefined);
}

/**
 * Returns the base URL of the console for links that are made outside a request. `address` is that of the
 * service, which the console shares unless it has its own.
 */
export function consoleLinksOf(config: Config, address = urlOf(config)): string {
  const { adminListen } = config;
  return consoleUrlOf(config) ?? (adminListen === undefined ? address : urlOf(adminListen));
}

/** Returns whether two addresses are known to collide. Other collisions show when the service listens. */
function isSameAddress(one: ListenAddress, other: ListenAddress): boolean {
  const isEveryInterface = [one, other].some(({ host }) => WILDCARDS.has(host));
  return one.port === other.port && one.port !== 0 && (one.host === other.host || isEveryInterface);
}

const BYTES_MAX = 65_536;

/**
 * Returns the text of a setting's file, as Docker and Kubernetes provide secrets, without trailing line ends.
 * Throws with a reason of one line, which quotes nothing of the file, if it is no file, is empty or too
 * large, or cannot be read.
 */
function readSettingFile(path: string): string {
  const value = readText(path).replace(/[\r\n]+$/, '');
  if (value === '') throw new Error('the file is empty');
  return value;
}

function readText(path: string): string {
  try {
    const stats = statSync(path);
    // Reading a pipe would wait for its writer, and on SIGHUP there is none.
    if (stats.isFile() && stats.size <= BYTES_MAX) return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`the file cannot be read (${code})`, { cause: error });
  }
  throw new Error(`must name a file of at most ${BYTES_MAX / 1024} KiB`);
}
