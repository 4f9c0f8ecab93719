// Statements that read a key which all nodes sign with, and store it the first time.

import type { Sql } from './database.ts';

/** Returns the key of this name. Of several nodes that store a draft at once, all return the same one. */
export async function readSigningKey(sql: Sql, name: string, draft: string): Promise<string> {
  const read = () =>
    sql.query<{ secret: string }>('SELECT secret FROM signing_keys WHERE name = $1', [name]);
  const [known] = await read();
  if (known !== undefined) return known.secret;
  await sql.query(
    'INSERT INTO signing_keys (name, secret) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING',
    [name, draft],
  );
  const [stored] = await read();
  if (stored === undefined) throw new Error(`Signing key ${name} was not stored`);
  return stored.secret;
}
