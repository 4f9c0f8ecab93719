// Tests which database the ledger believes: the one that had the channels, wherever it is, and no other one
// that stands behind the same address.

import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { openLedger } from '../../src/store/ledger/open-ledger.ts';
import type { Ledger } from '../../src/store/ledger.ts';
import { createTenant, type TestTenant } from '../store/ledger/ledger-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { freshDatabase } from '../support/fresh-database.ts';
import { KeptReport, TestMemory } from '../support/ledger-options.ts';
import { own, ownFolder } from '../support/own.ts';
import { type ReplaceableDatabase, replaceableDatabase } from '../support/replaceable-database.ts';
import { runOn } from '../support/run-on.ts';

const postgresUrl = inject('postgresUrl');
const title = (rest: string) =>
  postgresUrl === '' ? `${rest} (skipped: no PostgreSQL on this machine)` : rest;

describe.skipIf(postgresUrl === '')(title('a ledger on PostgreSQL'), () => {
  test('a call is answered by the database that took the place of the one before', async () => {
    const { url, replace, restore } = await replaceable();
    const memory = new TestMemory();
    const { ledger, report } = await open(url, memory);
    const tenant = await createTenant(ledger);
    const { channelId } = await tenant.stable();
    memory.remember(channelId);
    await replace('a copy of the record');
    expect(await tenant.stable()).toMatchObject({ epoch: 1 });
    expect(report.epochs).toEqual([1]);
    await restore();
    // The one before is behind the epoch that this process has held since.
    memory.highestEpoch = 1;
    expect(await tenant.stable()).toMatchObject({ epoch: 2 });
  });

  test('what a store remembers that answers later counts as well', async () => {
    const fresh = own(await freshDatabase(postgresUrl));
    const memory = new TestMemory();
    memory.isComplete = false;
    const { ledger, report } = await open(fresh.url, memory);
    expect(await ledger.isReachable()).toBe(true);
    memory.remember('chn_of_another');
    memory.isComplete = true;
    await eventually('it is foreign', () => report.foreignCounts.length > 0);
    expect(await ledger.isReachable()).toBe(false);
  });

  test('a database that is not there for a moment ends no process that has something to serve', async () => {
    const { url, replace, restore } = await replaceable();
    const { ledger: first } = await open(url);
    const tenant = await createTenant(first);
    const { channelId } = await tenant.stable();
    await replace('nothing');
    await expect(open(url)).rejects.toThrow('has no database of this name');
    const memory = new TestMemory().remember(channelId);
    const { ledger, report } = await open(url, memory);
    expect(report.refusals[0]).toMatchObject({ cause: { code: '3D000' } });
    await expectUnavailable(ledger, tenant);
    await restore();
    await eventually('it is back', () => ledger.isReachable());
    expect(await tenant.at(ledger).stable()).toMatchObject({ revision: 1 });
  });

  test('missing tables are unavailable, not a fault of the statement', async () => {
    const fresh = own(await freshDatabase(postgresUrl));
    const memory = new TestMemory();
    const { ledger, report } = await open(fresh.url, memory);
    const tenant = await createTenant(ledger);
    const { channelId } = await tenant.stable();
    memory.remember(channelId);
    await runOn(fresh.url, 'ALTER SCHEMA public RENAME TO aside; CREATE SCHEMA public');
    await expectUnavailable(ledger, tenant);
    await eventually('it is foreign', () => report.foreignCounts.length > 0);
    await runOn(fresh.url, 'DROP SCHEMA public; ALTER SCHEMA aside RENAME TO public');
    await eventually('it is back', () => ledger.isReachable());
    expect(await tenant.stable()).toMatchObject({ revision: 1 });
  });

  test('an account without the right to see the control data is enough', async () => {
    const fresh = own(await freshDatabase(postgresUrl));
    const role = `plain_${Date.now()}`;
    await runOn(
      fresh.url,
      `CREATE ROLE ${role} LOGIN; GRANT ALL ON SCHEMA public TO ${role};
       REVOKE EXECUTE ON FUNCTION pg_control_system() FROM public;
       REVOKE EXECUTE ON FUNCTION pg_current_wal_lsn() FROM public`,
    );
    const url = Object.assign(new URL(fresh.url), { username: role }).href;
    const { ledger } = await open(url);
    onTestFinished(async () => {
      await runOn(fresh.url, `DROP OWNED BY ${role}; DROP ROLE ${role}`);
    });
    await createTenant(ledger);
    await ledger.close();
  });

  async function replaceable(): Promise<ReplaceableDatabase> {
    return own(await replaceableDatabase(postgresUrl));
  }
});

describe('an embedded ledger', () => {
  test('is not made in a directory that was used with PostgreSQL', async () => {
    const dataDir = ownFolder();
    const away = 'postgres://postgres@127.0.0.1:1/none';
    await open(away, new TestMemory(), dataDir);
    await expect(open(undefined, new TestMemory(), dataDir)).rejects.toThrow('set DATABASE_URL');
  });
});

type OpenLedger = { readonly ledger: Ledger; readonly report: KeptReport };

async function open(
  databaseUrl: string | undefined,
  memory = new TestMemory(),
  dataDir = '/nonexistent',
): Promise<OpenLedger> {
  const report = new KeptReport();
  const ledger = own(await openLedger({ databaseUrl, dataDir, memory, report }));
  return { ledger, report };
}

async function expectUnavailable(ledger: Ledger, tenant: TestTenant): Promise<void> {
  await expect(ledger.readSnapshot(tenant.app, 'stable')).rejects.toBeInstanceOf(Unavailable);
}
