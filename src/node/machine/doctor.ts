// Examines a set-up for `sluice doctor` (settings, stores, data directory, the upstream of an edge), and
// migrates the schema for `sluice migrate`.

import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { OidcProvider } from '../../access/oidc-provider.ts';
import { RefusedAnswer } from '../../access/refused-answer.ts';
import { parseUrl } from '../../contract/address.ts';
import { type Check, type Diagnosis, faulty, sound } from '../../contract/store-fault.ts';
import {
  describeFailure,
  readCredential,
  UpstreamClient,
  type UpstreamRefusal,
} from '../../edge/upstream-client.ts';
import { examineMailServer } from '../../notify/mailer.ts';
import { RememberedChannels } from '../../serving/ledger-recovery.ts';
import { isLoopback } from '../../settings/address.ts';
import { readUpstreamConfig, type UpstreamConfig } from '../../settings/edge-settings.ts';
import { type Config, ConfigError, readConfig, readNearSettings } from '../../settings/settings.ts';
import { DiskSnapshotFiles } from '../../store/disk/disk-snapshot-files.ts';
import type { Engine } from '../../store/engine.ts';
import type { SchemaChange } from '../../store/ledger/database/migrate.ts';
import { examineEmbedded, examinePostgres } from '../../store/ledger/upkeep/examine-ledger.ts';
import { migrateLedger } from '../../store/ledger/upkeep/migrate-ledger.ts';
import type { LedgerMemory } from '../../store/ledger-identity.ts';
import { createMemoryEngine } from '../../store/memory/memory-engine.ts';
import { examineRedis } from '../../store/redis/examine-redis.ts';
import { createRedisEngine } from '../../store/redis/redis-engine.ts';
import { makeDataDirectory, OTHERS } from '../assemble/data-directory.ts';
import { examineHttpEngine } from '../assemble/http-engine.ts';
import { hasOwnSecrets } from '../assemble/secrets.ts';
import { fromSetting } from '../assemble/stores.ts';
import { examineNode } from '../required-node.ts';
import { examineDisk, examinePort } from './examine-machine.ts';

const NAME = 'data-dir';
/** Maximum number of files and folders to look at, which takes some seconds. */
const ENTRIES_MAX = 200_000;

/** Examines the directory. Never throws, and creates nothing. */
export function examineDataDirectory(path: string): Check {
  const directory = resolve(path);
  try {
    if (!isThere(directory)) return missingCheck(directory);
    const stats = statSync(directory);
    if (!stats.isDirectory()) return faulty(NAME, `${directory} is no directory`);
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    // Windows has neither numeric accounts nor such modes.
    if (process.getuid === undefined) return sound(NAME, directory);
    return ownershipCheck(directory, stats.uid, stats.mode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return faulty(NAME, `${directory} cannot be used by this account (${code ?? String(error)})`);
  }
}

function ownershipCheck(directory: string, owner: number, mode: number): Check {
  const foreign = findForeign(directory, owner);
  if (foreign !== undefined) {
    const name = relative(directory, foreign);
    return faulty(NAME, `${directory} is of account ${owner}, ${name} in it is not: chown it`);
  }
  return (mode & OTHERS) === 0
    ? sound(NAME, `${directory} is for account ${owner} only`)
    : faulty(
        NAME,
        `${directory} lets other accounts in: chmod -R go= ${directory}, or start the service`,
      );
}

/** Returns a path below a directory that belongs to another account; undefined if there is none. */
function findForeign(directory: string, owner: number): string | undefined {
  const folders = [directory];
  let count = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      // A running service may remove files meanwhile. For a link, the owner of its target counts.
      const stats = statSync(path, { throwIfNoEntry: false });
      if (stats !== undefined && stats.uid !== owner) return path;
      if (entry.isDirectory()) folders.push(path);
      if (++count >= ENTRIES_MAX) return undefined;
    }
  }
  return undefined;
}

/** Checks the nearest existing parent directory, in which the first start creates the missing ones. */
function missingCheck(directory: string): Check {
  const above = nearestAbove(directory);
  if (!statSync(above).isDirectory()) return faulty(NAME, `${above} is no directory`);
  accessSync(above, constants.W_OK | constants.X_OK);
  return sound(NAME, `${directory} is made at the first start`);
}

/**
 * Returns the nearest existing parent of a directory. Below a file, `statSync` throws with Node 20 and finds
 * nothing with Node 22.
 */
function nearestAbove(directory: string): string {
  const above = dirname(directory);
  return above === directory || isThere(above) ? above : nearestAbove(above);
}

function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return false;
    throw error;
  }
}

/**
 * Examines what the environment configures, with short time limits, and changes nothing. `upstream` overrides
 * EDGE_UPSTREAM, as at the start of an edge. Never rejects for a finding.
 */
export async function diagnose(
  upstream?: string,
  environment?: NodeJS.ProcessEnv,
): Promise<Diagnosis> {
  const node = examineNode();
  try {
    const edge = readUpstreamConfig(upstream, environment);
    const checks = edge === undefined ? await ofNode(environment) : await ofEdge(edge);
    return { checks: [node, settingsCheck(environment), ...checks] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { checks: [node, faulty('settings', error.message)] };
  }
}

function settingsCheck(environment?: NodeJS.ProcessEnv): Check {
  const near = readNearSettings(environment).map(({ name, setting }) => `${name} (${setting}?)`);
  if (near.length === 0) return sound('settings', 'can be read');
  const names = near.join(', ');
  return sound('settings', `can be read; these look like settings and are not: ${names}`);
}

async function ofEdge(config: UpstreamConfig): Promise<readonly Check[]> {
  const here = [...(await examinePlace(config)), examineDataDirectory(config.dataDir)];
  const http = await examineHttpEngine(config);
  return [http, proxyCheck(config), ...here, ...(await examineEdge(config.edge))];
}

async function ofNode(environment?: NodeJS.ProcessEnv): Promise<readonly Check[]> {
  const config = readConfig(environment);
  const disk = new DiskSnapshotFiles(config.dataDir, undefined, () => undefined);
  const memory = new RememberedChannels(disk, createMemoryEngine());
  const { checks: ledger, record } = await examineLedger(config, memory);
  const redis = await examineEngine(
    config,
    record === undefined ? await disk.readRecord() : record,
  );
  const here = [...(await examinePlace(config)), examineDataDirectory(config.dataDir)];
  const provider = await examineProvider(config);
  const mail = await examineMail(config);
  const http = await examineHttpEngine(config);
  return [http, ...examineSettings(config), ...here, ...ledger, ...redis, ...provider, ...mail];
}

/** Examines the disk and the ports. */
async function examinePlace(config: Config | UpstreamConfig): Promise<readonly Check[]> {
  const { host, port, adminListen, dataDir } = config;
  const ports = [await examinePort('PORT', { host, port })];
  if (adminListen !== undefined) ports.push(await examinePort('ADMIN_LISTEN', adminListen));
  return [...ports, examineDisk(nearestThere(dataDir))];
}

/** Returns a directory, or the nearest parent that exists. */
function nearestThere(path: string): string {
  const directory = resolve(path);
  return isThere(directory) ? directory : nearestAbove(directory);
}

type ExaminedLedger = Awaited<ReturnType<typeof examinePostgres>>;

async function examineLedger(config: Config, memory: LedgerMemory): Promise<ExaminedLedger> {
  const { databaseUrl: url, dataDir } = config;
  if (url === undefined) return { checks: await examineEmbedded(dataDir), record: undefined };
  const connections = config.databasePool * processesOf(config);
  let record: ExaminedLedger['record'];
  const checks = await tried('ledger', 'DATABASE_URL', async () => {
    const examined = await examinePostgres({ url, connections, dataDir, memory });
    record = examined.record;
    return examined.checks;
  });
  return { checks, record };
}

async function examineEngine(
  { redisUrl: url, redisPrefix: prefix }: Config,
  record: ExaminedLedger['record'],
): Promise<readonly Check[]> {
  if (url === undefined) return [sound('redis', 'none: the hot state is in the process')];
  return tried('redis', 'REDIS_URL', () => examineRedis({ url, prefix, record }));
}

/** Reads the endpoints of the OpenID Connect provider, if one is set. */
async function examineProvider({ oidc }: Config): Promise<readonly Check[]> {
  if (oidc === undefined) return [];
  try {
    await new OidcProvider(oidc, Date.now).discover();
    return [sound('oidc', `${oidc.issuer} answers`)];
  } catch (error) {
    if (!(error instanceof RefusedAnswer)) throw error;
    const { reason: kind, cause } = error;
    const isTold = kind !== 'away' && cause instanceof Error;
    const reason = isTold ? cause.message : describeFailure(cause);
    return [faulty('oidc', `${oidc.issuer} cannot be used: ${reason}`)];
  }
}

/** Asks the mail server, if one is set, whether it would accept mails. */
async function examineMail({ notify }: Config): Promise<readonly Check[]> {
  if (notify.mail === undefined) return [];
  const { smtpUrl } = notify.mail;
  const place = parseUrl(smtpUrl)?.host ?? '';
  const reason = await examineMailServer(smtpUrl);
  return reason === undefined
    ? [sound('mail', `the server at ${place} answers`)]
    : [faulty('mail', `SMTP_URL: the server at ${place} cannot be used: ${reason}`)];
}

/** Turns the error of an unusable address into a check; such errors do not quote the address. */
async function tried(
  name: string,
  variable: string,
  examine: () => Promise<readonly Check[]>,
): Promise<readonly Check[]> {
  try {
    return await examine();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [faulty(name, `${variable}: ${reason}`)];
  }
}

/** Returns the number of a node's processes with connections to PostgreSQL. */
function processesOf({ workers, redisUrl, adminListen }: Config): number {
  if (redisUrl === undefined) return 1;
  return workers + 1 + (adminListen === undefined ? 0 : 1);
}

const CALL_MS_MAX = 5000;
/** Clock difference above which check-ins get wrong times on an edge that starts without its upstream. */
const CLOCK_MS_MAX = 2000;

const REFUSALS: Readonly<Record<UpstreamRefusal, string>> = {
  revoked: 'it does not accept EDGE_TOKEN: make another with `sluice edge-token create`',
  unsigned: 'its answer is not signed: is it a Sluice of this version?',
  tampered:
    'its answer is signed with another key: EDGE_TOKEN is of another service, or an older key',
  malformed: 'its answer cannot be read: is it a Sluice of this version?',
  replayed: 'its answer is an older one',
  foreign: 'it is of another record than this edge has followed',
};

/**
 * Examines the settings of an edge: the form of its token, and whether the upstream accepts it, signs with
 * its key, and has about the same time. Never rejects.
 */
async function examineEdge({
  upstream: url,
  token,
}: UpstreamConfig['edge']): Promise<readonly Check[]> {
  if (token === undefined) return [faulty('edge-token', 'EDGE_TOKEN is not set')];
  const credential = readCredential(token);
  if (credential === undefined) {
    return [faulty('edge-token', 'is not what `sluice edge-token create` has printed')];
  }
  let refusal: UpstreamRefusal | undefined;
  const onRefused = (reason: UpstreamRefusal) => {
    refusal = reason;
  };
  const client = new UpstreamClient({ url, credential, record: () => undefined, onRefused });
  try {
    const call = { method: 'GET', path: 'time', timeoutMs: CALL_MS_MAX } as const;
    const begin = Date.now();
    const proven = await client.call('time', call);
    const at = proven?.answer.at ?? Number.NaN;
    return [
      sound('edge-token', 'has the right form'),
      sound('upstream', 'answers, takes the token, and signs with its key'),
      clockCheck((begin + Date.now()) / 2 - at),
    ];
  } catch (error) {
    const message = refusal === undefined ? describeFailure(error) : REFUSALS[refusal];
    return [sound('edge-token', 'has the right form'), faulty('upstream', message)];
  } finally {
    client.close();
  }
}

function clockCheck(aheadMs: number): Check {
  const seconds = Math.round(Math.abs(aheadMs) / 100) / 10;
  const side = aheadMs > 0 ? 'ahead of' : 'behind';
  return Math.abs(aheadMs) <= CLOCK_MS_MAX
    ? sound('clock', 'about that of the upstream')
    : faulty('clock', `is ${seconds} s ${side} that of the upstream: put it right`);
}

const SECRET_LENGTH_MIN = 32;
/** Number of distinct characters below which a secret was typed, not generated. */
const SECRET_CHARACTERS_MIN = 8;

/** Examines secrets and proxies. No message quotes a secret. */
export function examineSettings(config: Config): readonly Check[] {
  const { adminTokens, secretKeys } = config;
  const isGenerated = hasOwnSecrets(config);
  return [
    secretCheck('admin-token', adminTokens, {
      config,
      none: isGenerated
        ? 'generated into DATA_DIR at the first start'
        : 'none: no first owner can be created, and the command line cannot be used',
    }),
    secretCheck('secret-key', secretKeys, {
      config,
      none: isGenerated
        ? 'generated into DATA_DIR at the first start'
        : 'none: webhooks cannot be enabled',
    }),
    proxyCheck(config),
  ];
}

function secretCheck(
  name: string,
  values: readonly string[],
  { config, none }: { readonly config: Config; readonly none: string },
): Check {
  if (values.length === 0) return sound(name, none);
  const isWeak = values.some(
    (value) => value.length < SECRET_LENGTH_MIN || new Set(value).size < SECRET_CHARACTERS_MIN,
  );
  const count = values.length === 1 ? '' : ` (${values.length} values)`;
  if (!isWeak) return sound(name, `long enough${count}`);
  // On loopback, the service starts with a short secret, although it may be behind a proxy.
  return isPublic(config)
    ? faulty(name, `can be guessed${count}: make one with openssl rand -hex 32`)
    : sound(name, `can be guessed${count}, but only this machine reaches the service`);
}

/** Returns whether other machines can reach the service, directly or through a proxy. */
function isPublic({ host, adminListen, publicUrl, adminUrl, trustProxy }: Config): boolean {
  if (trustProxy > 0) return true;
  const hosts = [host, adminListen?.host, hostOf(publicUrl), hostOf(adminUrl)];
  return hosts.some((each) => each !== undefined && !isLoopback(each));
}

function hostOf(url: string | undefined): string | undefined {
  return url === undefined ? undefined : parseUrl(url)?.hostname.replace(/^\[|\]$/g, '');
}

/** Checks that a proxy is trusted if the service's addresses show that there is one in front. */
function proxyCheck({ publicUrl, adminUrl, trustProxy }: Config): Check {
  const name = 'proxy';
  const addresses = Object.entries({ PUBLIC_URL: publicUrl, ADMIN_URL: adminUrl }).flatMap(
    ([variable, url]) => (url === undefined ? [] : [{ variable, url: new URL(url) }]),
  );
  const secure = addresses.find(({ url }) => url.protocol === 'https:');
  const below = addresses.filter(({ url }) => url.pathname !== '/');
  if (trustProxy > 0) {
    const duties = below.map(
      ({ variable, url }) => `; the one of ${variable} takes ${url.pathname} off each path`,
    );
    const trust = `TRUST_PROXY=${trustProxy}: as many proxies set X-Forwarded-For`;
    return sound(name, trust + duties.join(''));
  }
  // The service itself has neither TLS nor a path, so such an address is that of a proxy.
  const [sign] = [
    ...(secure === undefined ? [] : [`${secure.variable} is https`]),
    ...below.map(({ variable }) => `${variable} has a path`),
  ];
  return sign === undefined
    ? sound(name, 'none is trusted: clients have the addresses that they connect from')
    : faulty(
        name,
        `${sign}, so there is a proxy, but TRUST_PROXY is 0: all clients have one address, ` +
          'and share its bounds',
      );
}

/**
 * Migrates the ledger. Rejects with a `ConfigError`, in one line that names the setting, when the database
 * cannot be reached, is newer than this program, or is not the record.
 */
export async function migrateSchema(config: Config): Promise<SchemaChange> {
  const { databaseUrl, dataDir } = config;
  if (databaseUrl === undefined) await fromSetting('DATA_DIR', () => makeDataDirectory(dataDir));
  const engine = await fromSetting('REDIS_URL', () => openEngine(config));
  const diskSnapshots = new DiskSnapshotFiles(dataDir, undefined, () => undefined);
  try {
    const memory = new RememberedChannels(diskSnapshots, engine);
    return await fromSetting(databaseUrl === undefined ? 'DATA_DIR' : 'DATABASE_URL', () =>
      migrateLedger({ databaseUrl, dataDir, memory }),
    );
  } finally {
    await engine.close();
  }
}

function openEngine({ redisUrl, redisPrefix }: Config): Engine {
  if (redisUrl === undefined) return createMemoryEngine();
  return createRedisEngine({ url: redisUrl, prefix: redisPrefix, onFault: () => undefined });
}
