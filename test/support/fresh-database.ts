// An empty database for one test file, in a server that many share.

import { randomBytes } from 'node:crypto';
import pg from 'pg';

export type FreshDatabase = {
  readonly url: string;
  /** Drops the database, whoever is still connected to it. */
  drop(): Promise<void>;
};

/** Creates a database with a random name; `postgresUrl` names any other of the same server. */
export async function freshDatabase(postgresUrl: string): Promise<FreshDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await run(postgresUrl, `create database ${name}`);
  const url = new URL(postgresUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: () => run(postgresUrl, `drop database if exists ${name} with (force)`),
  };
}

async function run(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
