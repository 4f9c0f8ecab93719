// The ledger on any PostgreSQL database: each call is a function of its noun's file, with the database as
// first argument.

import { isFailure } from '../../contract/failure.ts';
import type { CheckIn } from '../../domain/fleet/check-in.ts';
import type { LinkKind } from '../account-ledger.ts';
import type { ReleaseFilter } from '../console-ledger.ts';
import type { AdmissionBounds, CheckKind, ReportedFailure } from '../fleet-ledger.ts';
import type { DeviceName } from '../label-store.ts';
import type { Actor, OwnedApp, ReleaseName, RunChange, TenantScope } from '../ledger-terms.ts';
import { searchOrganization, UPDATE_APP } from './app/apps.ts';
import { readAttention } from './app/attention.ts';
import { UPDATE_CHANNEL } from './app/channel-settings.ts';
import * as calls from './calls.ts';
import { atomically } from './change/atomically.ts';
import { type Change, type Locked, run } from './change/change.ts';
import { findApp } from './change/channels.ts';
import { findLostRight } from './change/rights.ts';
import { type Database, type Sql, withoutCompiling } from './database/database.ts';
import {
  type DeviceKeeping,
  recordCheckIns,
  recordChecks,
  USUAL_KEEPING,
} from './fleet/check-ins.ts';
import { readDevice } from './fleet/devices.ts';
import { trimHistories } from './fleet/fleet-counts.ts';
import { findLink } from './people/one-time-links.ts';
import { listChannelReleases } from './release/channel-releases.ts';
import { RETRY } from './release/release-retries.ts';
import { PROMOTE, PUBLISH, WITHDRAW } from './release/releases.ts';
import { recordFailures } from './rollout/release-failures.ts';
import { readHealth } from './rollout/release-health.ts';
import { CREATE_PLAN, plansToDrive, readPlan } from './rollout/rollout-plans.ts';
import { CONTROL } from './rollout/serving-control.ts';
import { RESUME, STOP } from './rollout/stops.ts';

/**
 * Creates the ledger on a database, which must be migrated or reject calls until it is. A caller that misses
 * channels asks `confirm` whether the database is the record: it rejects with `Unavailable` when the database
 * has none of the channels that are remembered outside the ledger. The default trusts the database.
 */
export function createSqlLedger(
  database: Database,
  confirm: () => Promise<void> = async () => undefined,
  keeping: DeviceKeeping = USUAL_KEEPING,
) {
  return {
    ...bind<Calls>(database, calls),
    ...fleetCalls(database, keeping),
    ...planCalls(database),
    ...changes(database),
    readAttention: (organizationId: string) =>
      withoutCompiling(database, (sql) => readAttention(sql, organizationId)),
    search: (organizationId: string, text: string) =>
      searchOrganization(database, organizationId, text),
    listChannelReleases: (app: OwnedApp, channel: string, wanted: ReleaseFilter) =>
      withoutCompiling(database, (sql) => listChannelReleases(sql, app, channel, wanted)),
    /** Finds the app with this ref or id, in any organization. */
    findAnyApp: (app: string) => findApp(database, undefined, app),
    findLostRight: (actor: Actor) => findLostRight(database, actor, 'read'),
    findLink: <Kind extends LinkKind>(kind: Kind, tokenHash: string, now: string) =>
      findLink(database, kind, tokenHash, now),
    confirm,
    ...probe(database),
    /** Waits for running statements, then closes all connections. Safe to call twice. */
    close: () => database.close(),
  };
}

/** Calls of `calls.ts`. `findApp` needs a scope here: only `findAnyApp` looks in all organizations. */
type Calls = Omit<typeof calls, 'findApp'> & {
  findApp(sql: Sql, scope: TenantScope, app: string): ReturnType<typeof findApp>;
};

/** Functions without their first argument, the database. */
type Bound<Queries> = {
  readonly [Name in keyof Queries]: Queries[Name] extends (
    database: Database,
    ...rest: infer Rest
  ) => infer Result
    ? (...rest: Rest) => Result
    : never;
};

function bind<Queries extends Record<string, (database: Database, ...rest: never[]) => unknown>>(
  database: Database,
  queries: Queries,
): Bound<Queries> {
  const bound = Object.entries(queries).map(([name, query]) => [name, query.bind(null, database)]);
  return Object.fromEntries(bound);
}

/** Calls that depend on the precision of device records. */
function fleetCalls(database: Database, keeping: DeviceKeeping) {
  return {
    recordCheckIns: (checkIns: readonly CheckIn[]) =>
      recordCheckIns(database, checkIns, 'queued', keeping),
    recordAwaited: (checkIns: readonly CheckIn[]) =>
      recordCheckIns(database, checkIns, 'awaited', keeping),
    /** Records check-ins as `recordAwaited` does; an actor sent them on behalf of the devices. */
    recordReport: (checkIns: readonly CheckIn[], actor: Actor) =>
      atomically(database, actor, (sql) => recordCheckIns(sql, checkIns, 'awaited', keeping)),
    recordChecks: (
      checkIns: readonly CheckIn[],
      kind: CheckKind,
      bounds: AdmissionBounds,
      isRecorded?: (device: DeviceName) => boolean,
      writer?: string,
    ) => recordChecks(database, checkIns, kind, { bounds, isRecorded, keeping, writer }),
    readDevice: (app: string, deviceId: string) =>
      readDevice(database, app, deviceId, keeping.history),
    trimHistories: (rowsMax: number) => trimHistories(database, keeping.history, rowsMax),
  };
}

/** Calls about plans with their own transaction or planner settings. */
function planCalls(database: Database) {
  return {
    readPlan: (scope: TenantScope, name: ReleaseName) =>
      withoutCompiling(database, (sql) => readPlan(sql, scope, name)),
    readHealth: (scope: TenantScope, name: ReleaseName, knownForMinutes?: number) =>
      withoutCompiling(database, (sql) => readHealth(sql, scope, name, knownForMinutes)),
    listPlansToDrive: (checkMs: number, countMax: number) =>
      plansToDrive(database, checkMs, countMax),
    recordFailures: (failures: readonly ReportedFailure[]) =>
      database.transaction((sql) => recordFailures(sql, failures)),
    /** Records the failures of a report with an API key, if the actor may still report. */
    async recordReportedFailures(failures: readonly ReportedFailure[], actor: Actor) {
      const recorded = await atomically(database, actor, (sql) => recordFailures(sql, failures));
      return isFailure(recorded) ? recorded : undefined;
    },
  };
}

/** Changes of what channels serve; `run` makes each of them in the same steps. */
function changes(database: Database) {
  const by = <Input, Value, Place extends Locked>(
    change: Change<Input, Value, Place>,
  ): RunChange<Input, Value> => {
    return (call) => run(database, change, call);
  };
  return {
    publishRelease: by(PUBLISH),
    promoteRelease: by(PROMOTE),
    withdrawRelease: by(WITHDRAW),
    controlServing: by(CONTROL),
    retryRelease: by(RETRY),
    createPlan: by(CREATE_PLAN),
    stopReleases: by(STOP),
    resumeStop: by(RESUME),
    updateChannel: by(UPDATE_CHANNEL),
    updateApp: by(UPDATE_APP),
  };
}

/**
 * Statement that changes nothing, and that a database refuses if it takes no writes: PostgreSQL checks
 * whether a statement may write before it looks for rows.
 */
const TRIAL = 'UPDATE ledger_epoch SET epoch = epoch WHERE false';
/** Query whose rows, some hundred kilobytes, go to a temporary file, because `work_mem` is set too small. */
const ROOM_TRIAL = 'SELECT count(*) FROM generate_series(1, 10000)';

/** Creates the calls that test whether the database answers, and why it did not, and if it takes writes. */
function probe(database: Database) {
  let failure: unknown;
  return {
    /** Returns whether the database answers now, is migrated and is the record. Never rejects. */
    async isReachable() {
      try {
        await database.query('SELECT 1');
        return true;
      } catch (error) {
        failure = error;
        return false;
      }
    },
    lastFailure: () => failure,
    async tryWrite(needsRoom: boolean) {
      if (!needsRoom) return void (await database.query(TRIAL));
      await database.transaction(async (sql) => {
        await sql.query("SET LOCAL work_mem = '64kB'");
        await sql.query(ROOM_TRIAL);
        await sql.query(TRIAL);
      });
    },
  };
}
