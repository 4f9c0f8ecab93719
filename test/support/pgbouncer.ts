// Starts a real PgBouncer for one test, set as docs/operating/stores.md says: in transaction mode, and else
// with the settings that it has when nobody sets any. It refuses what a session would have to keep.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findBinary } from './find-binary.ts';
import { freePort } from './free-port.ts';
import { runOn } from './run-on.ts';
import { removeFolder, startProcess, waitUntilUp } from './server-process.ts';
import { findSystemAccount, folderOf } from './system-account.ts';

export type PgBouncer = {
  readonly port: number;
  /** Returns the address of a database of the server, led through PgBouncer. */
  through(databaseUrl: string): string;
  /** Returns the rows of a command such as `SHOW POOLS`. */
  show(command: string): Promise<Record<string, unknown>[]>;
  /** Leads new connections to another server from now on, and ends the open ones. */
  moveTo(postgresPort: number): Promise<void>;
  /** Returns its log. */
  output(): string;
  stop(): Promise<void>;
};

const USER = 'postgres';

/** The `pgbouncer` binary, when there is one. */
export function findPgBouncer(): string | undefined {
  return findBinary('pgbouncer', ['/usr/sbin']);
}

/** Starts PgBouncer in front of a PostgreSQL on loopback, for its superuser without a password. */
export async function startPgBouncer(postgresPort: number): Promise<PgBouncer> {
  const binary = findPgBouncer();
  if (binary === undefined) throw new Error('No pgbouncer found');
  const account = findSystemAccount();
  const folder = folderOf(account, 'sluice-pgbouncer-');
  const port = await freePort();
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(join(folder, 'userlist.txt'), `"${USER}" ""\n`);
  writeFileSync(file, settings(folder, port, postgresPort));
  const server = await startProcess(binary, [file], { ...account, cwd: folder });
  const through = (databaseUrl: string) => {
    const url = new URL(databaseUrl);
    url.port = String(port);
    return url.href;
  };
  const console = through(`postgres://${USER}@127.0.0.1/pgbouncer`);
  const show = (command: string) => runOn(console, command);
  await waitUntilUp(server, () => show('SHOW VERSION'));
  return {
    port,
    through,
    show,
    async moveTo(otherPort) {
      writeFileSync(file, settings(folder, port, otherPort));
      await show('RELOAD');
      await show('RECONNECT');
    },
    output: () => server.output(),
    async stop() {
      await server.end('SIGKILL');
      removeFolder(folder);
    },
  };
}

function settings(folder: string, port: number, postgresPort: number): string {
  return `[databases]
* = host=127.0.0.1 port=${postgresPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir = ${folder}
auth_type = trust
auth_file = ${join(folder, 'userlist.txt')}
admin_users = ${USER}
pool_mode = transaction
server_login_retry = 1
`;
}
