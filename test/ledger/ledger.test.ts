// The ledger's rules on PGlite and on PostgreSQL.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, inject } from 'vitest';
import { openPgDatabase } from '../../src/ledger/pg-database.ts';
import { openPgliteDatabase } from '../../src/ledger/pglite-database.ts';
import { freshDatabase } from '../support/fresh-database.ts';
import { describeLedger, type TestDatabase } from './ledger-contract.ts';

describeLedger('PGlite', async (): Promise<TestDatabase> => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-ledger-'));
  const database = await openPgliteDatabase({ directory: join(folder, 'ledger'), onFault });
  return {
    database,
    async dispose() {
      await database.close();
      await rm(folder, { recursive: true });
    },
  };
});

const postgresUrl = inject('postgresUrl');

if (postgresUrl === '') {
  describe.skip('ledger on PostgreSQL (skipped: no PostgreSQL on this machine)', () => undefined);
} else {
  describeLedger('PostgreSQL', async (): Promise<TestDatabase> => {
    const { url, drop } = await freshDatabase(postgresUrl);
    const database = openPgDatabase({ url, onFault });
    return {
      database,
      async dispose() {
        await database.close();
        await drop();
      },
    };
  });
}

function onFault(error: unknown): void {
  throw new Error('A fault where none was made', { cause: error });
}
