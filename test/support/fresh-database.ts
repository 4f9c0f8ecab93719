// Creates a database for one test file, on a server that many share.

import { randomBytes } from 'node:crypto';
import { runOn } from './run-on.ts';

export type FreshDatabase = {
  readonly url: string;
  /** Drops the database, and ends the connections that it still has. */
  drop(): Promise<void>;
};

/** Creates a database with a random name, empty unless a template is named. */
export function freshDatabase(postgresUrl: string, template?: string): Promise<FreshDatabase> {
  return createDatabase(postgresUrl, `test_${randomBytes(8).toString('hex')}`, template);
}

/** Creates a database as a copy of the template; `postgresUrl` names any other of the server. */
export async function createDatabase(
  postgresUrl: string,
  name: string,
  template = 'template1',
): Promise<FreshDatabase> {
  await runOn(postgresUrl, `create database ${name} template ${template}`);
  const url = new URL(postgresUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: async () =>
      void (await runOn(postgresUrl, `drop database if exists ${name} with (force)`)),
  };
}
