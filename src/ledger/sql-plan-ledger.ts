// SQL implementation of the part of the ledger that keeps roll-out plans. Each method is one function of
// query/.

import { isFailure } from '../contract/failure.ts';
import type { PlanLedger } from '../ports/plan-ledger.ts';
import { atomically } from './atomically.ts';
import type { Database } from './database.ts';
import { createPlan } from './query/create-plan.ts';
import { drivePlan } from './query/drive-plan.ts';
import { listSignalDevices } from './query/list-signal-devices.ts';
import { countPlanTime, plansToDrive } from './query/plans-to-drive.ts';
import { readHealth, readPlan } from './query/read-plan.ts';
import { readReleaseAdoption } from './query/read-release-adoption.ts';
import { readTrouble } from './query/read-trouble.ts';
import { recordFailures } from './query/record-failures.ts';
import { rehearsePlan } from './query/rehearse-plan.ts';
import { steerPlan } from './query/steer-plan.ts';
import { withoutCompiling } from './query/without-compiling.ts';

/** Creates the methods that keep roll-out plans on a database. */
export function createSqlPlanLedger(database: Database): PlanLedger {
  return {
    createPlan: (reach, name, definition, actor, reason, known) =>
      createPlan(database, reach, name, definition, actor, reason, known),
    rehearsePlan: (reach, name, definition, actor, held, known) =>
      rehearsePlan(database, reach, name, definition, actor, { held, known }),
    steerPlan: (reach, name, action, actor, reason) =>
      steerPlan(database, reach, name, action, actor, reason),
    readPlan: (reach, name) => withoutCompiling(database, (sql) => readPlan(sql, reach, name)),
    readHealth: (reach, name, knownForMinutes) =>
      withoutCompiling(database, (sql) => readHealth(sql, reach, name, knownForMinutes)),
    readTrouble: (reach, name) => readTrouble(database, reach, name),
    readReleaseAdoption: (reach, name) => readReleaseAdoption(database, reach, name),
    listSignalDevices: (reach, name, signal, filter) =>
      listSignalDevices(database, reach, name, signal, filter),
    countPlanTime: () => countPlanTime(database),
    listPlansToDrive: (checkMs, countMax) => plansToDrive(database, checkMs, countMax),
    drivePlan: (plan, seenUpToMs, known) => drivePlan(database, plan, seenUpToMs, known),
    recordFailures: (failures) => database.transaction((sql) => recordFailures(sql, failures)),
    async recordReportedFailures(failures, actor) {
      const recorded = await atomically(database, actor, (sql) => recordFailures(sql, failures));
      return isFailure(recorded) ? recorded : undefined;
    },
  };
}
