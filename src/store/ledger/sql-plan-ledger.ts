// SQL implementation of the part of the ledger that keeps roll-out plans. Each method is one function of
// query/.

import { isFailure } from '../../contract/failure.ts';
import type { PlanLedger } from '../plan-ledger.ts';
import { atomically } from './atomically.ts';
import type { Database } from './database.ts';
import { drivePlan } from './drive-plan.ts';
import { countPlanTime, plansToDrive } from './plans-to-drive.ts';
import { readHealth, readPlan } from './read-plan.ts';
import { readReleaseAdoption } from './read-release-adoption.ts';
import { readTrouble } from './read-trouble.ts';
import { recordFailures } from './record-failures.ts';
import { rehearsePlan } from './rehearse-plan.ts';
import { createPlan } from './rollout-plans.ts';
import { listSignalDevices } from './rollout-signals.ts';
import { steerPlan } from './steer-plan.ts';
import { withoutCompiling } from './without-compiling.ts';

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
