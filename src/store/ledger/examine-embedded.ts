// Examination of the embedded database for `sluice doctor`. A directory that a service has open is left to
// it.

import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Check, faulty, sound } from '../../contract/diagnosis.ts';
import { isHolderAlive, isOfThisHost, readHolder } from '../../process/directory-lock.ts';
import { directoryIn } from './open-ledger.ts';
import { openPgliteDatabase } from './pglite-database.ts';
import { refuseRecreation } from './refuse-recreation.ts';
import { schemaCheck } from './schema-check.ts';

/** Examines the embedded database below `dataDir`. Never rejects. */
export async function examineEmbedded(dataDir: string): Promise<readonly Check[]> {
  const directory = directoryIn(dataDir);
  try {
    const holder = holderOf(directory);
    if (holder !== undefined) {
      return [sound('ledger', `the embedded database is in use by ${holder}, and not examined`)];
    }
    refuseRecreation(directory);
    if (!existsSync(join(directory, 'PG_VERSION'))) {
      return [sound('ledger', 'the embedded database is made at the first start')];
    }
    const { uid } = statSync(directory);
    // What another account opens, it also writes, and the service could not open it any more.
    if (process.getuid !== undefined && process.getuid() !== uid) {
      return [faulty('ledger', `not examined: run this as the account that owns ${directory}`)];
    }
    return await open(directory);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [faulty('ledger', reason.replace(/\s+/g, ' '))];
  }
}

async function open(directory: string): Promise<readonly Check[]> {
  const database = await openPgliteDatabase({ directory, onFault: () => undefined });
  try {
    const schema = await schemaCheck(database);
    return [sound('ledger', 'the embedded database opens'), schema];
  } finally {
    await database.close();
  }
}

/** Returns who has the directory open; undefined when nobody has. */
function holderOf(directory: string): string | undefined {
  const path = `${directory}.lock`;
  if (!existsSync(path)) return undefined;
  const holder = readHolder(readFileSync(path, 'utf8'));
  if (holder === undefined) return 'a process that is just starting';
  if (!isOfThisHost(holder)) return `a process on another host (${holder.host})`;
  return isHolderAlive(holder) ? `process ${holder.pid}` : undefined;
}
