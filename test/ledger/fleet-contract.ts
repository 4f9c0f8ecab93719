// Rules of the fleet's part of the ledger port, run unchanged on every database.

import { afterAll, beforeAll, describe } from 'vitest';
import type { Database } from '../../src/ledger/database.ts';
import { migrate } from '../../src/ledger/migrate.ts';
import { createSqlLedger } from '../../src/ledger/sql-ledger.ts';
import type { Ledger } from '../../src/ports/ledger.ts';
import { describeAccounts } from './account-contract.ts';
import { describeAdoption } from './adoption-contract.ts';
import { describeCheckIns } from './check-in-contract.ts';
import { describeConsoleReads } from './console-contract.ts';
import { describeDeviceKeeping } from './device-keeping-contract.ts';
import { describeFleetAdmission } from './fleet-admission-contract.ts';
import { describeFleetCounts } from './fleet-counts-contract.ts';
import type { FleetUnderTest } from './fleet-fixture.ts';
import { describeFleetPurge } from './fleet-purge-contract.ts';
import { describeFleetReads } from './fleet-reads-contract.ts';
import { describeFleetSweep } from './fleet-sweep-contract.ts';
import { describeFleetTime } from './fleet-time-contract.ts';
import { describeLabels } from './labels-contract.ts';
import type { TestDatabase } from './test-database.ts';

/** Declares the suite; `open` gives an empty database. */
export function describeFleet(name: string, open: () => Promise<TestDatabase>): void {
  describe(`fleet on ${name}`, () => {
    let opened: TestDatabase;
    let ledger: Ledger;
    const fleet: FleetUnderTest = {
      get ledger(): Ledger {
        return ledger;
      },
      get database(): Database {
        return opened.database;
      },
    };

    beforeAll(async () => {
      opened = await open();
      await migrate(opened.database);
      ledger = createSqlLedger(opened.database);
    });
    afterAll(() => opened?.dispose());

    describe('check-ins', () => describeCheckIns(fleet));
    describe('labels', () => describeLabels(fleet));
    describe('reads', () => describeFleetReads(fleet));
    describe('counts', () => describeFleetCounts(fleet));
    describe('adoption', () => describeAdoption(fleet));
    describe('time', () => describeFleetTime(fleet));
    describe('admission', () => describeFleetAdmission(fleet));
    describe('sweep', () => describeFleetSweep(fleet));
    // After the sweep: each version that a device leaves is an empty count for that to delete.
    describe('keeping', () => describeDeviceKeeping(fleet));
    describe('purge', () => describeFleetPurge(fleet));
    describe('the console', () => describeConsoleReads(fleet));
    describe('accounts', () => describeAccounts(fleet));
  });
}
