// Database whose place another one can take, under the same address: a wrong volume, a restore, a server that
// lost its data.

import { eventually } from './eventually.ts';
import { freshDatabase } from './fresh-database.ts';
import { runOn } from './run-on.ts';

export type ReplaceableDatabase = {
  readonly url: string;
  /** Puts the database aside, and something else in its place. */
  replace(by: 'nothing' | 'an empty one' | 'a copy of the record'): Promise<void>;
  /** Puts the database back in its place. */
  restore(): Promise<void>;
  query(text: string): Promise<Record<string, unknown>[]>;
  drop(): Promise<void>;
};

/** Creates the database; `postgresUrl` names any other one of the server. */
export async function replaceableDatabase(postgresUrl: string): Promise<ReplaceableDatabase> {
  const fresh = await freshDatabase(postgresUrl);
  const name = new URL(fresh.url).pathname.slice(1);
  const aside = `${name}_aside`;
  /** Tried again, because a node may connect between the two statements. */
  async function rename(from: string, to: string): Promise<void> {
    await eventually(`${from} is ${to}`, async () => {
      await runOn(
        postgresUrl,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${from}'`,
      );
      return runOn(postgresUrl, `ALTER DATABASE ${from} RENAME TO ${to}`).then(
        () => true,
        () => false,
      );
    });
  }
  return {
    url: fresh.url,
    async replace(by) {
      await rename(name, aside);
      if (by === 'nothing') return;
      const template = by === 'an empty one' ? 'template0' : aside;
      await runOn(postgresUrl, `CREATE DATABASE ${name} TEMPLATE ${template}`);
    },
    async restore() {
      await runOn(postgresUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await rename(aside, name);
    },
    query: (text) => runOn(fresh.url, text),
    async drop() {
      await runOn(postgresUrl, `DROP DATABASE IF EXISTS ${aside} WITH (FORCE)`);
      await fresh.drop();
    },
  };
}
