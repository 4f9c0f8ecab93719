// Database whose place another one can take, under the same address: a wrong volume, a restore, a server that
// lost its data.

import pg from 'pg';
import { eventually } from './eventually.ts';
import { freshDatabase } from './fresh-database.ts';

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
      await queryOn(
        postgresUrl,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${from}'`,
      );
      return succeeds(queryOn(postgresUrl, `ALTER DATABASE ${from} RENAME TO ${to}`));
    });
  }
  return {
    url: fresh.url,
    async replace(by) {
      await rename(name, aside);
      if (by === 'nothing') return;
      const template = by === 'an empty one' ? 'template0' : aside;
      await queryOn(postgresUrl, `CREATE DATABASE ${name} TEMPLATE ${template}`);
    },
    async restore() {
      await queryOn(postgresUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await rename(aside, name);
    },
    query: (text) => queryOn(fresh.url, text),
    async drop() {
      await queryOn(postgresUrl, `DROP DATABASE IF EXISTS ${aside} WITH (FORCE)`);
      await fresh.drop();
    },
  };
}

/** Runs statements on a connection of their own; returns the rows of the last one. */
export async function queryOn(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  // Tests end sessions and servers.
  client.on('error', () => undefined);
  await client.connect();
  try {
    const result: unknown = await client.query(text);
    const [last] = [result].flat().slice(-1) as pg.QueryResult<Record<string, unknown>>[];
    return last?.rows ?? [];
  } finally {
    await client.end();
  }
}

async function succeeds(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch {
    return false;
  }
}
