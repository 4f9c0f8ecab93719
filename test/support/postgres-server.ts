// Starts a real PostgreSQL for one test, on a free loopback port, which the test may kill and freeze.

import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from './eventually.ts';
import { findBinary } from './find-binary.ts';
import { onFreePort } from './free-port.ts';
import { runOn } from './run-on.ts';
import {
  removeFolder,
  type ServerProcess,
  type StoreServer,
  startProcess,
  waitUntilUp,
} from './server-process.ts';
import { findSystemAccount, folderOf, type SystemAccount } from './system-account.ts';

/** Server whose address is that of the database `postgres`, as superuser without a password. */
export type PostgresServer = StoreServer & {
  /** Starts another server that follows this one by streaming replication, and waits until it answers. */
  startStandby(): Promise<StandbyServer>;
};

/** Server that follows another one and can take its place. Until it is promoted it refuses writes. */
export type StandbyServer = PostgresServer & {
  /** Waits until everything that was committed before the call is on the standby. */
  catchUp(): Promise<void>;
  /** Stops following: what is committed afterwards is not on the standby. */
  stopFollowing(): Promise<void>;
  /** Makes it a server that takes writes, on a time line of its own. */
  promote(): Promise<void>;
};

type Installation = {
  readonly binary: string;
  readonly folder: string;
  readonly account: SystemAccount;
  /** Whether committed data survive a crash of the machine, for tests of durability. */
  readonly fsync: boolean;
};

const CONNECTION_COUNT_MAX = 200;
const START_TIMEOUT_MS = 90_000;
const INSTALLED_UNDER = '/usr/lib/postgresql';

/** The `postgres` binary that has its `initdb` beside it, when there is one. */
export function findPostgres(): string | undefined {
  const versions = existsSync(INSTALLED_UNDER) ? readdirSync(INSTALLED_UNDER) : [];
  const newestFirst = versions.sort((a, b) => Number(b) - Number(a));
  const folders = newestFirst.map((version) => join(INSTALLED_UNDER, version, 'bin'));
  const binary = findBinary('postgres', folders);
  if (binary === undefined) return undefined;
  // Where PATH has links, the server's other programs lie beside what they point to.
  const found = realpathSync(binary);
  return existsSync(join(dirname(found), 'initdb')) ? found : undefined;
}

/** Makes a fresh cluster of databases, starts it and waits until it answers. */
export async function startPostgres({ fsync = false } = {}): Promise<PostgresServer> {
  const binary = findPostgres();
  if (binary === undefined) throw new Error('No postgres with initdb found');
  const account = findSystemAccount();
  const args = ['-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--locale=C', '--no-instructions'];
  return startMade('initdb', args, {
    ...{ binary, folder: folderOf(account, 'sluice-postgres-', !fsync), account, fsync },
  });
}

/** Makes the data of a server with another program of PostgreSQL, and starts it on them. */
async function startMade(
  program: string,
  args: readonly string[],
  installation: Installation,
): Promise<PostgresServer> {
  const { binary, folder, account } = installation;
  const made = ['-D', join(folder, 'data'), '--no-sync', ...args];
  try {
    await promisify(execFile)(join(dirname(binary), program), made, { ...account, cwd: folder });
    const { port, server } = await onFreePort((free) => startOn(free, installation));
    return controlPostgres(installation, port, server);
  } catch (error) {
    removeFolder(folder);
    throw error;
  }
}

function controlPostgres(
  installation: Installation,
  port: number,
  started: ServerProcess,
): PostgresServer {
  let server = started;
  const signalAll = (signal: NodeJS.Signals) => {
    for (const pid of [server.pid, ...childrenOf(server.pid)]) signalIfAlive(pid, signal);
  };
  async function kill(): Promise<void> {
    if (server.hasExited()) return;
    // The postmaster is frozen first, so that it starts nothing between the listing and the kill.
    signalIfAlive(server.pid, 'SIGSTOP');
    const backends = childrenOf(server.pid);
    for (const pid of backends) signalIfAlive(pid, 'SIGKILL');
    await server.end('SIGKILL');
    await untilGone(backends);
  }
  return {
    url: urlOf(port),
    port,
    async stop() {
      // Frozen backends could not end with the postmaster.
      if (!server.hasExited()) signalAll('SIGCONT');
      await server.end('SIGQUIT');
      removeFolder(installation.folder);
    },
    kill,
    pause: () => signalAll('SIGSTOP'),
    resume: () => signalAll('SIGCONT'),
    async restart() {
      if (!server.hasExited()) signalAll('SIGCONT');
      await server.end('SIGINT');
      server = await startOn(port, installation);
    },
    startStandby: () => startStandby(installation, port),
  };
}

/** Starts a copy of a running server, with the settings that make the copy follow it. */
async function startStandby(of: Installation, primaryPort: number): Promise<StandbyServer> {
  const folder = folderOf(of.account, 'sluice-standby-', !of.fsync);
  const source = ['-h', '127.0.0.1', '-p', String(primaryPort), '-U', 'postgres'];
  const kind = ['-X', 'stream', '--write-recovery-conf', '--checkpoint=fast'];
  const server = await startMade('pg_basebackup', [...source, ...kind], { ...of, folder });
  return { ...server, ...controlStandby(server.port, primaryPort) };
}

function controlStandby(
  port: number,
  primaryPort: number,
): Pick<StandbyServer, 'catchUp' | 'stopFollowing' | 'promote'> {
  return {
    async catchUp() {
      const [row] = await runOn<{ at: string }>(
        urlOf(primaryPort),
        'SELECT pg_current_wal_lsn() AS at',
      );
      await untilTrueOn(port, `SELECT pg_last_wal_replay_lsn() >= '${row?.at}' AS "isTrue"`);
    },
    async stopFollowing() {
      await runOn(urlOf(port), `ALTER SYSTEM SET primary_conninfo = ''`);
      await runOn(urlOf(port), 'SELECT pg_reload_conf()');
      await untilTrueOn(port, 'SELECT count(*) = 0 AS "isTrue" FROM pg_stat_wal_receiver');
    },
    async promote() {
      await runOn(urlOf(port), 'SELECT pg_promote(true, 30)');
    },
  };
}

function untilTrueOn(port: number, query: string): Promise<void> {
  const isTrue = async () =>
    (await runOn<{ isTrue: boolean | null }>(urlOf(port), query))[0]?.isTrue;
  return eventually(query, async () => (await isTrue()) === true, START_TIMEOUT_MS);
}

function urlOf(port: number): string {
  return `postgres://postgres@127.0.0.1:${port}/postgres`;
}

async function startOn(port: number, { binary, folder, account, fsync }: Installation) {
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${folder}`,
    `max_connections=${CONNECTION_COUNT_MAX}`,
    `fsync=${fsync ? 'on' : 'off'}`,
    // For standbys that reconnect: a restored dump writes more than what is kept otherwise.
    'wal_keep_size=1GB',
  ];
  const args = ['-D', join(folder, 'data'), ...settings.flatMap((setting) => ['-c', setting])];
  const server = await startProcess(binary, args, { ...account, cwd: folder });
  await waitUntilUp(server, () => runOn(urlOf(port), 'SELECT 1'));
  return server;
}

/** The backends and helpers of a postmaster, which are its direct children. */
function childrenOf(pid: number): number[] {
  const listed = `/proc/${pid}/task/${pid}/children`;
  if (existsSync(listed))
    return readFileSync(listed, 'utf8').split(' ').map(Number).filter(Boolean);
  const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  const rows = table.split('\n').map((line) => line.trim().split(/\s+/).map(Number));
  return rows.filter(([, parent]) => parent === pid).map(([child]) => Number(child));
}

function signalIfAlive(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** Orphans are reaped by another process, a moment after they end; a zombie no longer holds anything. */
function untilGone(pids: readonly number[]): Promise<void> {
  const isGone = (pid: number) => !signalIfAlive(pid, 0) || isZombie(pid);
  return eventually('the backends are gone', () => pids.every(isGone));
}

function isZombie(pid: number): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
