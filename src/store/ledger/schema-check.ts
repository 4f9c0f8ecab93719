// Check of `sluice doctor`: whether a database has the schema that this program knows.

import { type Check, faulty, sound } from '../../contract/diagnosis.ts';
import type { Sql } from './database.ts';
import { readSchema } from './migrate.ts';

const NAME = 'ledger-schema';

/** Compares the schema of a database with that of this program. Rejects like a query. */
export async function schemaCheck(sql: Sql): Promise<Check> {
  const { applied, known } = await readSchema(sql);
  if (applied === 0) return sound(NAME, 'there is none yet: the first start makes it');
  if (applied === known) return sound(NAME, `up to date, at migration ${known}`);
  const states = `at migration ${applied}, this version of Sluice is at ${known}`;
  return applied < known
    ? faulty(NAME, `${states}: run sluice migrate, or let a start do it`)
    : faulty(NAME, `${states}: a newer version has been here, which must be started again`);
}
