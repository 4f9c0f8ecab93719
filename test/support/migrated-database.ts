// Creates migrated databases without content, as copies of one, because migrating takes longer than copying.

import { migrate } from '../../src/store/ledger/database/migrate.ts';
import { openPgDatabase } from '../../src/store/ledger/database/pg-database.ts';
import { createDatabase, type FreshDatabase, freshDatabase } from './fresh-database.ts';

/** Template database on the run's PostgreSQL. It can be copied only while nothing is connected to it. */
const TEMPLATE = 'migrated';

/** Makes the template that `migratedDatabase` copies, once in a run. */
export async function makeMigratedTemplate(postgresUrl: string): Promise<void> {
  const { url } = await createDatabase(postgresUrl, TEMPLATE);
  const database = openPgDatabase({
    url,
    onFault(error) {
      throw error;
    },
  });
  try {
    await migrate(database);
  } finally {
    await database.close();
  }
}

/** Creates a migrated database; `postgresUrl` names any other database of the run's server. */
export function migratedDatabase(postgresUrl: string): Promise<FreshDatabase> {
  return freshDatabase(postgresUrl, TEMPLATE);
}
