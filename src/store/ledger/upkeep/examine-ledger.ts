// Examines a ledger, PostgreSQL or embedded, for `sluice doctor`: whether the service can use it, and whether
// its settings suit the service. Connects as the service does, and changes nothing.

import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { splitHosts } from '../../../contract/address.ts';
import { LIMIT } from '../../../contract/limit.ts';
import { MISTAKEN_ID_WORDS } from '../../../contract/ref.ts';
import {
  type Check,
  describeStoreFault,
  faulty,
  remedyOf,
  sound,
  unusable,
} from '../../../contract/store-fault.ts';
import { isHolderAlive, isOfThisHost, readHolder } from '../../../process/directory-lock.ts';
import type { LedgerMemory } from '../../ledger-identity.ts';
import type { Database, Sql } from '../database/database.ts';
import { readSchema } from '../database/migrate.ts';
import { isUnmoved, refuseMoved } from '../database/move-mark.ts';
import { openPgDatabase } from '../database/pg-database.ts';
import { openPgliteDatabase } from '../database/pglite-database.ts';
import { examineRecord, ForeignDatabase } from '../database/record-database.ts';
import { refuseRecreation } from '../database/refuse-recreation.ts';
import { readTime } from '../fleet/check-ins.ts';
import { listMistakenIds } from '../fleet/mistaken-ids.ts';
import { directoryIn } from '../open-ledger.ts';
import { listRegions } from '../rollout/rollout-plans.ts';

/** Oldest version with all features that the service uses, and oldest version that the tests run on. */
const [VERSION_MIN, VERSION_TESTED] = [14, 15];
/** Difference of clocks, in milliseconds, from which sessions end noticeably early or late. */
const CLOCK_MS_MAX = 2000;
const CLOCK_SAMPLES = 3;
/** Milliseconds by which the mark of a region may be older than the newest; a region records one a minute. */
const REGION_MS_MAX = 180_000;
/** Maximum number of kinds of mistaken ids that are reported. */
const MISTAKES_TOLD_MAX = 5;
/** Number of devices from which checkpoints at PostgreSQL's default settings cost more than the rows do. */
const LARGE_FLEET = 1_000_000;
const WAL_MEBIBYTES_MIN = 4096;
const CHECKPOINT_SECONDS_MIN = 900;

type ExaminePostgresOptions = {
  readonly url: string;
  /** Maximum number of connections of this node. */
  readonly connections: number;
  readonly dataDir: string;
  /** What DATA_DIR remembers of its record. */
  readonly memory: LedgerMemory;
};

/** Checks of a PostgreSQL, and the name of its record: null for one without, undefined if it was not read. */
type ExaminedPostgres = {
  readonly checks: readonly Check[];
  readonly record: string | null | undefined;
};

type Facts = {
  readonly version: string;
  readonly versionNumber: number;
  readonly isStandby: boolean;
  readonly account: string;
  readonly schema: string | null;
  readonly mayCreate: boolean | null;
  /** A table of the service that another account owns. */
  readonly foreignTable: string | null;
  readonly devices: number | null;
  readonly connected: number;
  readonly accountConnections: number;
  readonly databaseConnections: number;
};

const FACTS = `
  SELECT current_setting('server_version') AS version,
    current_setting('server_version_num')::int AS "versionNumber",
    pg_is_in_recovery() AS "isStandby",
    current_user::text AS account,
    current_schema()::text AS schema,
    has_schema_privilege(current_schema()::text, 'CREATE') AS "mayCreate",
    (SELECT min(tablename)::text FROM pg_tables
      WHERE schemaname = current_schema()
        AND tablename IN ('sluice_migrations', 'channels', 'releases', 'devices')
        AND NOT pg_has_role(tableowner, 'USAGE')) AS "foreignTable",
    (SELECT sum(greatest(reltuples, 0))::float8 FROM pg_class
      JOIN pg_inherits ON inhrelid = pg_class.oid
      WHERE inhparent = to_regclass('devices')) AS devices,
    (SELECT coalesce(sum(numbackends), 0)::int FROM pg_stat_database
      WHERE datname IS NOT NULL) AS connected,
    (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user) AS "accountConnections",
    (SELECT datconnlimit FROM pg_database
      WHERE datname = current_database()) AS "databaseConnections"`;

/** Settings of the server for this account; numbers in the units that the server uses. */
type Settings = ReadonlyMap<string, string>;

/** Examines the PostgreSQL. Throws only for an invalid URL. */
export async function examinePostgres(options: ExaminePostgresOptions): Promise<ExaminedPostgres> {
  const database = openPgDatabase({ url: options.url, onFault: () => undefined });
  try {
    return await examine(database, options);
  } catch (error) {
    return {
      checks: [unusable('ledger', { store: 'ledger', place: placeOf(options.url) }, error)],
      record: undefined,
    };
  } finally {
    await database.close();
  }
}

async function examine(
  database: Database,
  { url, connections, dataDir, memory }: ExaminePostgresOptions,
): Promise<ExaminedPostgres> {
  const [facts] = await database.query<Facts>(FACTS);
  if (facts === undefined) throw new Error('it told nothing of itself');
  const settings = await readSettings(database);
  const { check: recordCheck, record } = await examineKinship(database, memory);
  const checks = [
    facts.isStandby
      ? faulty('ledger', `PostgreSQL at ${placeOf(url)} is a standby, which refuses writes`)
      : sound('ledger', `PostgreSQL ${facts.version} at ${placeOf(url)} answers`),
    versionCheck(facts),
    rightsCheck(facts),
    await schemaCheck(database, dataDir),
    recordCheck,
    await regionsCheck(database),
    await deviceIdsCheck(database),
    await clockCheck(database),
    durabilityCheck(settings),
    checkpointsCheck(settings, facts.devices ?? 0),
    connectionsCheck(settings, facts, connections),
  ];
  return { checks, record };
}

/** Compares the record of a database with what DATA_DIR remembers. */
async function examineKinship(sql: Sql, memory: LedgerMemory) {
  const name = 'ledger-record';
  try {
    const { record } = await examineRecord(sql, memory);
    const told = record === undefined ? 'none yet' : 'of this deployment, as far as DATA_DIR knows';
    return { check: sound(name, told), record: record ?? null };
  } catch (error) {
    if (!(error instanceof ForeignDatabase)) throw error;
    return { check: faulty(name, `${error.message}: ${remedyOf(error.cause)}`), record: undefined };
  }
}

/** Compares the marks of regions: a region is behind if others have recorded theirs since. */
async function regionsCheck(sql: Sql): Promise<Check> {
  const name = 'regions';
  const [table] = await sql.query<{ isThere: boolean }>(
    `SELECT to_regclass('region_marks') IS NOT NULL AS "isThere"`,
  );
  const marks = table?.isThere ? await listRegions(sql) : [];
  const newestMs = Math.max(...marks.map(({ notedAt }) => Date.parse(notedAt)));
  const gone = marks.filter(({ notedAt }) => newestMs - Date.parse(notedAt) > REGION_MS_MAX);
  const names = marks.filter((each) => !gone.includes(each)).map(({ region }) => region);
  const recording = names.length === 0 ? 'none yet' : `check-ins of ${names.sort().join(', ')}`;
  const silent = gone
    .filter(({ isSilent }) => isSilent)
    .map(({ region, notedAt }) => `; plans go on without ${region}, silent since ${notedAt}`);
  const waited = gone.find(({ isSilent }) => !isSilent);
  return waited === undefined
    ? sound(name, `${recording}${silent.join('')}`)
    : faulty(
        name,
        `${waited.region} has recorded nothing since ${waited.notedAt}: plans with guards wait for it, for ` +
          `${LIMIT.regionSilentMinutes} minutes at most. Start a node there, with its Redis`,
      );
}

/** Names the apps whose devices most often send an id that many share by mistake. */
async function deviceIdsCheck(sql: Sql): Promise<Check> {
  const name = 'device-ids';
  const [table] = await sql.query<{ isThere: boolean }>(
    `SELECT to_regclass('mistaken_ids') IS NOT NULL AS "isThere"`,
  );
  const told = table?.isThere ? await listMistakenIds(sql, MISTAKES_TOLD_MAX) : [];
  if (told.length === 0) return sound(name, 'none that many devices share by mistake');
  const lines = told.map(
    ({ app, kind, requests, since }) =>
      `${requests} requests of ${app} since ${since} named the device by ${MISTAKEN_ID_WORDS[kind] ?? kind}`,
  );
  return faulty(
    name,
    `${lines.join('; ')}: these devices are in no staged rollout and not counted. Let the app make an id ` +
      'once, keep it, and send it in X-Service-Device',
  );
}

async function readSettings(sql: Sql): Promise<Settings> {
  const rows = await sql.query<{ name: string; setting: string }>(
    'SELECT name, setting FROM pg_settings WHERE name = ANY ($1::text[])',
    [
      [
        ...['synchronous_commit', 'fsync', 'full_page_writes', 'autovacuum', 'max_wal_size'],
        ...['checkpoint_timeout', 'max_connections', 'superuser_reserved_connections'],
        ...['reserved_connections', 'default_transaction_read_only'],
      ],
    ],
  );
  return new Map(rows.map(({ name, setting }) => [name, setting]));
}

function versionCheck({ version, versionNumber }: Facts): Check {
  const name = 'ledger-version';
  const major = Math.floor(versionNumber / 10_000);
  if (major < VERSION_MIN) return faulty(name, `${version} is too old: use ${VERSION_TESTED}`);
  return major < VERSION_TESTED
    ? sound(name, `${version} is older than what the tests run on (${VERSION_TESTED})`)
    : sound(name, version);
}

function rightsCheck({ account, schema, mayCreate, foreignTable }: Facts): Check {
  const name = 'ledger-rights';
  if (schema === null) {
    return faulty(name, `${account} has no schema in its search_path: create one for it`);
  }
  if (foreignTable !== null) {
    return faulty(
      name,
      `${account} does not own the table ${foreignTable}: migrations alter it (ALTER TABLE … OWNER TO)`,
    );
  }
  return mayCreate
    ? sound(name, `${account} may create and alter tables in the schema ${schema}`)
    : faulty(name, `${account} may not create tables: GRANT CREATE ON SCHEMA ${schema}`);
}

async function clockCheck(sql: Sql): Promise<Check> {
  let best = { offMs: 0, roundTripMs: Number.POSITIVE_INFINITY };
  for (let sample = 0; sample < CLOCK_SAMPLES; sample++) {
    const [startMs, started] = [Date.now(), performance.now()];
    const theirs = await readTime(sql);
    const roundTripMs = performance.now() - started;
    if (roundTripMs < best.roundTripMs) {
      best = { offMs: theirs - (startMs + roundTripMs / 2), roundTripMs };
    }
  }
  const difference = Math.abs(best.offMs);
  const isOff = difference > CLOCK_MS_MAX + best.roundTripMs / 2;
  const direction = best.offMs > 0 ? 'behind' : 'ahead of';
  return isOff
    ? faulty(
        'clock',
        `this machine's clock is ${(difference / 1000).toFixed(1)} s ${direction} PostgreSQL's: ` +
          'synchronise both',
      )
    : sound('clock', `as PostgreSQL's, to within ${CLOCK_MS_MAX / 1000} s`);
}

function durabilityCheck(settings: Settings): Check {
  const name = 'ledger-durability';
  const isOff = (setting: string) => settings.get(setting) === 'off';
  if (settings.get('default_transaction_read_only') === 'on') {
    return faulty(
      name,
      'default_transaction_read_only is on for this account: nothing is recorded',
    );
  }
  const lossy = ['fsync', 'full_page_writes', 'synchronous_commit'].filter(isOff);
  if (lossy.length > 0) {
    const what = lossy.join(' and ');
    return faulty(name, `${what} off: a crash of the server loses what was acknowledged`);
  }
  return isOff('autovacuum')
    ? faulty(name, 'autovacuum is off: the tables of devices grow without end')
    : sound(name, `synchronous_commit is ${settings.get('synchronous_commit') ?? 'unknown'}`);
}

function checkpointsCheck(settings: Settings, devices: number): Check {
  const name = 'ledger-checkpoints';
  const wal = Number(settings.get('max_wal_size'));
  const seconds = Number(settings.get('checkpoint_timeout'));
  const found = `max_wal_size is ${wal} MB, checkpoint_timeout ${seconds} s`;
  const isSmall = wal < WAL_MEBIBYTES_MIN || seconds < CHECKPOINT_SECONDS_MIN;
  if (!isSmall) return sound(name, found);
  return devices < LARGE_FLEET
    ? sound(name, `${found}: enough below a million devices`)
    : faulty(
        name,
        `${found}: for about ${Math.round(devices)} devices set at least ` +
          `${WAL_MEBIBYTES_MIN} MB and ${CHECKPOINT_SECONDS_MIN} s`,
      );
}

function connectionsCheck(settings: Settings, facts: Facts, needed: number): Check {
  const name = 'ledger-connections';
  const reserved = ['superuser_reserved_connections', 'reserved_connections'];
  const server = reserved.reduce(
    (left, each) => left - Number(settings.get(each) ?? 0),
    Number(settings.get('max_connections')),
  );
  const limits = [server, facts.accountConnections, facts.databaseConnections];
  const room = Math.min(...limits.filter((limit) => limit >= 0));
  const told = `this node opens up to ${needed} of ${room}, ${facts.connected} are open now`;
  return needed > room
    ? faulty(name, `${told}: raise max_connections, or put a pool such as PgBouncer in front`)
    : sound(name, told);
}

/** Returns the hosts and the database of an address, without its credentials and options. */
export function placeOf(url: string): string {
  const urls = splitHosts(url).map((each) => new URL(each));
  const hosts = urls.map(
    ({ host, searchParams }) => host || (searchParams.get('host') ?? 'a socket'),
  );
  return `${hosts.join(', ')}${urls[0]?.pathname ?? ''}`;
}

/** Returns the message of the driver's or the server's error, in one line. */
export function messageOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return (cause instanceof Error ? cause.message : String(cause)).replace(/\s+/g, ' ');
}

/** Examines the embedded database below `dataDir`, unless a service has it open. Never rejects. */
export async function examineEmbedded(dataDir: string): Promise<readonly Check[]> {
  const directory = directoryIn(dataDir);
  try {
    const holder = holderOf(directory);
    if (holder !== undefined) {
      return [sound('ledger', `the embedded database is in use by ${holder}, and not examined`)];
    }
    refuseMoved(directory);
    refuseRecreation(directory);
    if (!existsSync(join(directory, 'PG_VERSION'))) {
      return [sound('ledger', 'the embedded database is made at the first start')];
    }
    const { uid } = statSync(directory);
    // Opening it writes files, which the service could not open if they belonged to another account.
    if (process.getuid !== undefined && process.getuid() !== uid) {
      return [faulty('ledger', `not examined: run this as the account that owns ${directory}`)];
    }
    return await open(directory);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [faulty('ledger', reason.replace(/\s+/g, ' '))];
  }
}

async function open(directory: string): Promise<readonly Check[]> {
  const database = await openPgliteDatabase({ directory, onFault: () => undefined });
  try {
    const schema = await schemaCheck(database);
    return [sound('ledger', 'the embedded database opens'), schema, await deviceIdsCheck(database)];
  } finally {
    await database.close();
  }
}

/** Returns who has the directory open; undefined for nobody. */
function holderOf(directory: string): string | undefined {
  const path = `${directory}.lock`;
  if (!existsSync(path)) return undefined;
  const holder = readHolder(readFileSync(path, 'utf8'));
  if (holder === undefined) return 'a process that is just starting';
  if (!isOfThisHost(holder)) return `a process on another host (${holder.host})`;
  return isHolderAlive(holder) ? `process ${holder.pid}` : undefined;
}

const NAME = 'ledger-schema';

/**
 * Compares the schema of a database with that of this program; `dataDir` is the directory beside PostgreSQL.
 * Rejects like a query.
 */
async function schemaCheck(sql: Sql, dataDir?: string): Promise<Check> {
  const { applied, known, refusal } = await readSchema(sql);
  if (refusal !== undefined) {
    const name = dataDir === undefined ? 'the embedded database' : undefined;
    return faulty(NAME, `${describeStoreFault('ledger', refusal, name)}. ${refusal.message}`);
  }
  if (applied === 0 && dataDir !== undefined && isUnmoved(directoryIn(dataDir))) {
    return faulty(NAME, 'there is none yet, and DATA_DIR has a ledger: run sluice move');
  }
  if (applied === 0) return sound(NAME, 'there is none yet: the first start makes it');
  if (applied === known) return sound(NAME, `up to date, at migration ${known}`);
  const states = `at migration ${applied}, this version of Sluice is at ${known}`;
  return faulty(NAME, `${states}: run sluice migrate, or let a start do it`);
}
