// Rollout plans of the demo: one that is under way, and one that its guard has stopped. They are made and
// driven by the calls that the service makes, once the fleet's past is on record. Only the time is helped
// along: the clock by which plans wait is moved on, and what they did is dated back.

import { isFailure } from '../src/contract/failure.ts';
import type {
  PlanGuards,
  PlannedStep,
  PlanStep,
  RolloutPlan,
} from '../src/contract/rollout-plan.ts';
import { PLAN_PRESETS } from '../src/domain/rollout/plan-presets.ts';
import type { Database } from '../src/store/ledger/database/database.ts';
import type { Ledger } from '../src/store/ledger.ts';
import type { DemoDevice } from './demo-devices.ts';
import {
  BAD_VERSION,
  GOOD_VERSION,
  HOUR_MS,
  type PastApp,
  STOPPED_AFTER_HOURS,
} from './demo-releases.ts';

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;
const ACTOR = { kind: 'admin-token' } as const;
/** Devices of which the installer tells that it failed; of most, nobody does. */
const REPORTS = [
  ...['Installer exited with code 1603', 'Installer exited with code 1603'],
  ...['Installer exited with code 1603', 'notes.exe is in use by another process'],
  'No space left on drive C:',
];
/** Hours after the offer at which they do. */
const REPORTED_AFTER_HOURS = 3;

/** App on record, and where. */
export type Place = {
  readonly ledger: Ledger;
  readonly database: Database;
  readonly organizationId: string;
  readonly app: Pick<PastApp, 'ref' | 'releases'> & { readonly id: string };
};

type Past = Place & {
  readonly channel: string;
  readonly version: string;
  readonly publishedMs: number;
};

/** Records the failures of the bad release, and lives both plans through. */
export async function livePlans(place: Place, devices: readonly DemoDevice[]): Promise<void> {
  await reportFailures(place, devices);
  await stopBadRelease(pastOf(place, BAD_VERSION));
  const steps = [
    { rollout: 5, holdMinutes: DAY_MINUTES },
    { rollout: 20, holdMinutes: 2 * DAY_MINUTES },
    { rollout: 50, holdMinutes: DAY_MINUTES },
    { rollout: 100, holdMinutes: DAY_MINUTES },
  ];
  await raiseToSecondStep(place, GOOD_VERSION, steps);
}

async function stopBadRelease(past: Past): Promise<void> {
  const steps = [
    { rollout: 25, holdMinutes: 2 * DAY_MINUTES },
    { rollout: 100, holdMinutes: DAY_MINUTES },
  ];
  const { guards } = PLAN_PRESETS.normal;
  const id = await makePlan(past, steps, guards);
  await drive(past, id);
  await wait(past, STOPPED_AFTER_HOURS * HOUR_MS - guards.confirmMinutes * MINUTE_MS);
  await dateBack(past, MINUTE_MS);
  await drive(past, id);
  await wait(past, guards.confirmMinutes * MINUTE_MS);
  const plan = await drive(past, id);
  if (plan.status !== 'held' || plan.step !== 0) {
    throw new Error(`The guard did not trip in the first step: ${plan.status}, step ${plan.step}`);
  }
  await dateBack(past, STOPPED_AFTER_HOURS * HOUR_MS);
  await datePlan(past, id);
}

/** Makes a plan whose first step lasts a day, and lives through that. `more` replaces some of its guards. */
export async function raiseToSecondStep(
  place: Place,
  version: string,
  steps: readonly PlannedStep[],
  more: Partial<PlanGuards> = {},
): Promise<void> {
  const past = pastOf(place, version);
  // A device of these fleets may take two days until it installs.
  const stuckAfterMinutes = 2 * DAY_MINUTES;
  const guards = { ...PLAN_PRESETS.normal.guards, stuckAfterMinutes, ...more };
  const id = await makePlan(past, steps, guards);
  await drive(past, id);
  await dateBack(past, MINUTE_MS);
  // A little more than the hold, which begins when the step is served.
  await wait(past, 24 * HOUR_MS + MINUTE_MS);
  const plan = await drive(past, id);
  if (plan.step !== 1) {
    const why = plan.reason ?? plan.waitingFor?.reason;
    throw new Error(`The plan did not go on: ${plan.status}, ${why}`);
  }
  await dateBack(past, 24 * HOUR_MS + 2 * MINUTE_MS);
  await wait(past, Date.now() - past.publishedMs - 24 * HOUR_MS);
  await datePlan(past, id);
}

function pastOf(place: Place, version: string): Past {
  const release = place.app.releases.find((each) => each.version === version);
  if (release === undefined) throw new Error(`The demo has no ${version}`);
  const publishedMs = Date.now() - release.daysAgo * 24 * HOUR_MS;
  return { ...place, channel: release.channel, version, publishedMs };
}

async function makePlan(
  past: Past,
  steps: readonly PlannedStep[],
  guards: PlanGuards,
): Promise<string> {
  const definition = {
    ...({ steps, startAtMs: undefined, guards, onTrip: 'pause', onBlind: undefined } as const),
    ...{ patienceMinutes: 1440, raiseBetween: null, preset: null },
  };
  const made = await past.ledger.createPlan({
    ...{ scope: past.organizationId, actor: ACTOR },
    input: { ...nameOf(past), definition },
  });
  if (isFailure(made)) throw new Error(made.message);
  return made.value.id;
}

/** Drives a plan as the service's background does: all check-ins are on record. */
async function drive(past: Past, id: string): Promise<RolloutPlan> {
  const { countedMs } = await past.ledger.beginPlanTurn(undefined);
  const driven = await past.ledger.drivePlan({ id, ...nameOf(past) }, { seenUpToMs: countedMs });
  if (isFailure(driven)) throw new Error(driven.message);
  return driven.value;
}

/** Moves the clock on by which plans wait. */
async function wait({ database }: Past, ms: number): Promise<void> {
  await database.query(
    'UPDATE plan_clock SET counted_ms = counted_ms + $1::bigint, read_at = clock_timestamp()',
    [Math.round(ms)],
  );
}

/** Dates the newest entries of the release's history to a time after its publishing. */
async function dateBack({ database, app, channel, version, publishedMs }: Past, ms: number) {
  await database.query(
    `UPDATE audit_entries SET at = $1 WHERE subject = $2 AND at > now() - interval '10 minutes'`,
    [new Date(publishedMs + ms).toISOString(), `${app.ref}/${channel}@${version}`],
  );
}

/** Dates the steps of a plan as the history has them: each began after the hold of the one before it. */
async function datePlan(past: Past, id: string): Promise<void> {
  const { database, publishedMs } = past;
  const [row] = await database.query<{ state: { readonly steps: readonly PlanStep[] } }>(
    'SELECT state FROM rollout_plans WHERE id = $1',
    [id],
  );
  if (row === undefined) throw new Error(`There is no plan ${id}`);
  let at = publishedMs + MINUTE_MS;
  const steps = row.state.steps.map((step) => {
    const [begin, end] = [at, at + step.holdMinutes * MINUTE_MS];
    at = end;
    return {
      ...step,
      startedAt: step.startedAt && new Date(begin).toISOString(),
      endedAt: step.endedAt && new Date(end).toISOString(),
    };
  });
  await database.query('UPDATE rollout_plans SET state = $2, created_at = $3 WHERE id = $1', [
    ...[id, JSON.stringify({ ...row.state, steps }), new Date(publishedMs).toISOString()],
  ]);
}

async function reportFailures(
  { ledger, database, app }: Place,
  devices: readonly DemoDevice[],
): Promise<void> {
  const failing = devices.filter(
    ({ fate, offer }) => fate === 'fails' && offer?.version === BAD_VERSION,
  );
  await ledger.recordFailures(
    REPORTS.map((reason, index) => ({
      ...{ appId: app.id, channel: 'beta', deviceId: failing[index]?.id ?? '', reason },
      ...{ runs: '2.4.0-beta.2', canonicalVersion: BAD_VERSION, network: `192.0.2.${index + 1}` },
    })),
  );
  await database.query(
    `UPDATE release_failures AS failure SET at = reached.offered_at + $1::int * interval '1 hour'
     FROM release_devices AS reached
     WHERE reached.release_id = failure.release_id AND reached.device_id = failure.device_id`,
    [REPORTED_AFTER_HOURS],
  );
}

function nameOf({ app, channel, version }: Past) {
  return { app: app.ref, channel, canonicalVersion: version };
}
