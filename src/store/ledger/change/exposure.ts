// Records how a transaction changes the exposure of releases, where a channel asks for approvals: a change
// that widens it is rolled back, and waits as a stored request (`change.ts`).

import { LIMIT } from '../../../contract/limit.ts';
import type { PlanAction } from '../../../contract/rollout-plan.ts';
import { type Catalog, compileSteps } from '../../../domain/decision/catalog.ts';
import { mayReachFurther, servesBeside } from '../../../domain/decision/serving-comparison.ts';
import {
  type ExposedRelease,
  type ExposingPolicy,
  movesReleases,
  type PlanMark,
  widens,
} from '../../../domain/release/widening.ts';
import { inSlices } from '../../../flow/time-slice.ts';
import type { Actor } from '../../ledger-terms.ts';
import { ALL_ARTIFACTS_JSON } from '../database/columns.ts';
import type { ActorSql } from './atomically.ts';
import type { LockedChannel } from './channels.ts';
import { findOpenPlans, findPlan } from './plan-rows.ts';
import { readServedOn } from './snapshots.ts';

type AskingChannel = Pick<LockedChannel, 'name' | 'approvals'>;

/**
 * Begins to record changes of exposure, and sets the savepoint, if a locked channel asks for approvals. Call
 * it after the locks, so that they outlast a rollback, and before anything is written.
 */
export async function watchExposure(
  sql: ActorSql,
  channels: readonly AskingChannel[],
): Promise<void> {
  if (sql.exposure.isWatched || !channels.some(asksForApproval) || isExempt(sql.actor)) return;
  sql.exposure.isWatched = true;
  await sql.setSavepoint();
}

/** Returns whether an actor never waits: an open plan goes on, and a code host's releases arrive paused. */
function isExempt({ kind }: Actor): boolean {
  return kind === 'plan' || kind === 'integration';
}

export function asksForApproval({ approvals }: Pick<LockedChannel, 'approvals'>): boolean {
  return approvals !== 'none';
}

type Served = Omit<ExposedRelease, 'plan'>;

/**
 * Returns the rollout of a new release whose call names none: the channel's default; if an approval carries
 * the call out, the default that the call met.
 */
export function defaultRolloutOf(
  { exposure }: ActorSql,
  { name, defaultRollout }: Pick<LockedChannel, 'name' | 'defaultRollout'>,
): number {
  const asked = exposure.askedOn.find(({ channel, version }) => channel === name && version);
  const { defaultRollout: then = defaultRollout } = (asked?.before ?? {}) as Partial<DefaultMet>;
  return then;
}

/** State that the publish of a new release at the default rollout meets. */
type DefaultMet = { readonly defaultRollout: number };

/** Change of a release on a locked channel. */
type ReleaseExposure = {
  /** Null for a release that did not exist. */
  readonly before: Served | null;
  /** Whether the new release gets the default rollout. */
  readonly isByDefault?: boolean;
  readonly after: Served;
  /** Whether the release gets a plan. */
  readonly isPlanned?: boolean;
  /** What the call does to the release's present plan. */
  readonly steered?: PlanAction;
};

/** Stands for the plan that a release gets; no stored plan has its id. */
const NEW_PLAN: PlanMark = { id: '', status: 'scheduled', step: null };

/** Records a change of a release, if the transaction is watched. Call it before its plan changes. */
export async function recordReleaseExposure(
  sql: ActorSql,
  channel: AskingChannel,
  { id, version }: { readonly id: string; readonly version: string },
  { before: was, after: is, isByDefault = false, isPlanned = false, steered }: ReleaseExposure,
): Promise<void> {
  if (!sql.exposure.isWatched || sql.actor.kind === 'plan') return;
  const plan = was === null ? null : await readPlanMark(sql, id);
  const before = was && { ...servedOf(was), plan };
  // Until an approval, another release may get the version, and a code host may change the files.
  const byDefault: DefaultMet | null = isByDefault ? { defaultRollout: is.rolloutPct } : null;
  const met = before ? { ...before, id, content: await hashContent(sql, id) } : byDefault;
  const after = { ...servedOf(is), plan: isPlanned ? NEW_PLAN : plan };
  const isWider = widens({ kind: 'release', before, after, ...(steered && { steered }) });
  sql.exposure.changes.push({
    ...{ channel: channel.name, version, before: met },
    isWider: isWider && asksForApproval(channel),
  });
}

/** Returns a hash of what devices get of a release. */
async function hashContent(sql: ActorSql, releaseId: string): Promise<string | undefined> {
  const [row] = await sql.query<{ hash: string }>(
    `SELECT encode(sha256(convert_to(
       json_build_array(version, notes, ${ALL_ARTIFACTS_JSON})::text, 'UTF8'
     )), 'hex') AS hash FROM releases WHERE id = $1`,
    [releaseId],
  );
  return row?.hash;
}

async function readPlanMark(sql: ActorSql, releaseId: string): Promise<PlanMark | null> {
  const plan = await findPlan(sql, releaseId);
  if (plan === undefined) return null;
  const { status, step } = plan.state;
  return { id: plan.id, status, step };
}

function servedOf({ status, rolloutPct, targets }: Served): Served {
  return { status, rolloutPct, targets };
}

/** Records the state of the release that a promotion copies, which an approval must meet unchanged. */
export function recordSourceExposure(
  { exposure }: ActorSql,
  channel: string,
  version: string,
  state: () => object,
): void {
  if (!exposure.isWatched) return;
  exposure.changes.push({ channel, version, before: state(), isWider: false });
}

/** Change of a channel's settings. */
type SettingsChange<Policy> = {
  readonly before: Policy;
  readonly after: Policy;
  /** Channel that the change begins to follow; undefined if it follows none, or the same as before. */
  readonly followed: Pick<LockedChannel, 'name' | 'approvals'> | undefined;
};

/**
 * Makes a change of a locked channel's settings and, if the transaction is watched, records it. Whether it
 * widens exposure follows from what the channel would offer before and after (docs/contract.md 33.11).
 */
export async function recordingSettings<Policy extends ExposingPolicy, Value>(
  sql: ActorSql,
  channel: LockedChannel,
  { before, after, followed }: SettingsChange<Policy>,
  change: () => Promise<Value>,
): Promise<Value> {
  if (!sql.exposure.isWatched) return change();
  const isFollowedProtected = followed !== undefined && asksForApproval(followed);
  const isWiderByName = widens({ kind: 'channel', before, after, isFollowedProtected });
  // Requests that earlier versions stored have no `ddi`.
  const met = { ...before, ddi: before.ddi ?? undefined };
  const note = (isWider: boolean) =>
    sql.exposure.changes.push({ channel: channel.name, version: null, before: met, isWider });
  if (isWiderByName || !asksForApproval(channel) || !movesReleases(before, after)) {
    note(isWiderByName && asksForApproval(channel));
    return change();
  }
  const count = await countReleases(sql, channel, [before.follows, after.follows]);
  if (count > LIMIT.comparedReleasesMax) {
    note(true);
    return change();
  }
  const then = await readCatalog(sql, channel, channel.name);
  const brings =
    followed !== undefined && (await isServedBeside(sql, channel, then, followed.name));
  const value = await change();
  note(brings || mayReachFurther(then, await readCatalog(sql, channel, channel.name, then)));
  return value;
}

/** Counts the releases of a locked channel and of these others of its app. */
async function countReleases(
  sql: ActorSql,
  { app, name }: LockedChannel,
  others: readonly (string | null)[],
): Promise<number> {
  const [row] = await sql.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM releases JOIN channels ON channels.id = releases.channel_id
     WHERE channels.app_id = $1 AND channels.name = ANY ($2::text[])`,
    [app.id, [name, ...others.filter((each) => each !== null)]],
  );
  return row?.count ?? 0;
}

/** Reads what a locked channel serves; reuses the compiled releases of `before`. */
async function readCatalog(
  sql: ActorSql,
  { app }: LockedChannel,
  name: string,
  before?: Catalog,
): Promise<Catalog> {
  const served = await readServedOn(sql, app.ref, name, before?.snapshot);
  return inSlices(compileSteps(served, before));
}

/** Returns whether a channel to be followed serves, or has an open plan for, what the follower does not. */
async function isServedBeside(
  sql: ActorSql,
  channel: LockedChannel,
  present: Catalog,
  name: string,
): Promise<boolean> {
  const followed = await readCatalog(sql, channel, name);
  const plans = await findOpenPlans(
    sql,
    followed.snapshot.releases.map(({ id }) => id),
  );
  return servesBeside(present, followed, new Set(plans.map(({ releaseId }) => releaseId)));
}

/** Returns the sentence for a dry run of a change that would wait; undefined for one that would not. */
export function waitWarning({ exposure }: ActorSql): string | undefined {
  if (!exposure.changes.some(({ isWider }) => isWider)) return undefined;
  return 'The channel asks for approvals: another member has to approve this';
}
