// Dry runs: a change in a transaction that rolls back, with what the channel serves before and after it.

import {
  type FailureKind,
  isFailure,
  type LostRight,
  type Outcome,
  type UnknownRelease,
} from '../../contract/failure.ts';
import type { Release, ServingState } from '../../contract/resource.ts';
import type { ServingSnapshot } from '../../domain/decision/serving-snapshot.ts';
import type { Served, Serving } from '../../domain/release/serving-change.ts';
import { guardFindings } from '../../domain/rollout/plan-findings.ts';
import type { NewPromotion, NewRelease, PublishObstacle } from '../ledger.ts';
import type {
  Actor,
  Changed,
  DryRunPlace,
  DryRunResult,
  HeldSnapshot,
  KnownStates,
  ReleaseName,
  TenantScope,
} from '../ledger-terms.ts';
import { type ActorSql, dryRun } from './atomically.ts';
import { type LockedChannel, lockChannel } from './channels.ts';
import { countKnown } from './count-known.ts';
import type { Database, Sql } from './database.ts';
import { waitWarning, watchDryRun } from './exposure.ts';
import { findPlan, findPlannedRelease } from './plan-rows.ts';
import { exceededLimits, readPromotionSource } from './promotion-source.ts';
import { promoteOn, publishOn } from './releases.ts';
import { signalTaking } from './rollout-signals.ts';
import { controlOn } from './serving-control.ts';
import { readServedOn } from './snapshots.ts';

/** What the caller knows of the channels. */
export type Memory = {
  readonly held: HeldSnapshot | undefined;
  readonly known: KnownStates | undefined;
};

/** Does a dry run of publishing a release. No caller sees the release, and its id is not used again. */
export function dryRunPublish(
  database: Database,
  scope: TenantScope,
  release: NewRelease,
  actor: Actor,
  { held, known }: Memory,
): Promise<
  Outcome<DryRunResult<Release>, 'unknownApp' | 'unknownChannel' | PublishObstacle | LostRight>
> {
  return dryRun<DryRunResult<Release>, 'unknownApp' | 'unknownChannel' | PublishObstacle>(
    database,
    actor,
    async (sql) => {
      const channel = await lockChannel(sql, scope, release.app, release.channel, known);
      if (isFailure(channel)) return channel;
      const place = { channel, canonicalVersion: release.canonicalVersion, held };
      const result = await around<Release, PublishObstacle>(sql, place, () =>
        publishOn<never>(sql, channel, release, {
          call: undefined,
          audit: { action: 'release.publish' },
        }),
      );
      if (isFailure(result)) return result;
      const guards = await guardConcerns(sql, result.value.id);
      return { ...result, concerns: [...result.concerns, ...guards] };
    },
  );
}

/** Does a dry run of a promotion, with warnings about its source. */
export function dryRunPromotion(
  database: Database,
  scope: TenantScope,
  promotion: NewPromotion,
  actor: Actor,
  { held, known }: Memory,
): Promise<
  Outcome<DryRunResult<Release>, UnknownRelease | PublishObstacle | 'notPromotable' | LostRight>
> {
  return dryRun<DryRunResult<Release>, UnknownRelease | PublishObstacle | 'notPromotable'>(
    database,
    actor,
    async (sql) => {
      const channel = await lockChannel(sql, scope, promotion.app, promotion.to, known);
      if (isFailure(channel)) return channel;
      const source = await readPromotionSource(sql, channel.app.id, promotion);
      if (isFailure(source)) return source;
      const place = { channel, canonicalVersion: promotion.canonicalVersion, held };
      const result = await around<Release, PublishObstacle | 'notPromotable'>(sql, place, () =>
        promoteOn(sql, channel, promotion, source),
      );
      if (isFailure(result)) return result;
      const concerns = source.concerns.map((message) => ({ path: 'from', message }));
      const guards = await guardConcerns(sql, result.value.id);
      return { ...result, concerns: [...concerns, ...result.concerns, ...guards] };
    },
  );
}

/** Returns what the guards of a new release's plan cannot do; nothing without guards. */
async function guardConcerns(sql: Sql, releaseId: string) {
  const row = await findPlan(sql, releaseId);
  if (row === undefined || row.state.guards === null) return [];
  const known = await countKnown(sql, releaseId, signalTaking(row.state.guards));
  const findings = guardFindings(row.state, { known });
  return findings.map(({ path, message }) => ({ path: `plan.${path}`, message }));
}

/** Does a dry run of serving control, with a warning when it would offer an unhealthy release. */
export function dryRunServing<Kind extends FailureKind>(
  database: Database,
  scope: TenantScope,
  name: ReleaseName,
  transition: (serving: Serving) => Outcome<Served, Kind>,
  actor: Actor,
  { held, known }: Memory,
): Promise<Outcome<DryRunResult<ServingState>, UnknownRelease | Kind | LostRight>> {
  return dryRun<DryRunResult<ServingState>, UnknownRelease | Kind>(database, actor, async (sql) => {
    const channel = await lockChannel(sql, scope, name.app, name.channel, known);
    if (isFailure(channel)) return channel;
    const place = { channel, canonicalVersion: name.canonicalVersion, held };
    const result = await around<ServingState, 'unknownRelease' | Kind>(sql, place, () =>
      controlOn(sql, channel, name.canonicalVersion, transition, undefined),
    );
    if (isFailure(result) || result.value.status !== 'published') return result;
    const concerns = await concernsOf(sql, channel.id, name.canonicalVersion);
    return { ...result, concerns: [...concerns, ...result.concerns] };
  });
}

async function concernsOf(sql: Sql, channelId: string, canonicalVersion: string) {
  const release = await findPlannedRelease(sql, channelId, canonicalVersion, false);
  if (isFailure(release)) return [];
  const limits = await exceededLimits(sql, release, await findPlan(sql, release.id));
  return limits === undefined ? [] : [{ path: 'status', message: `It is unhealthy: ${limits}` }];
}

/** Release on a locked channel. */
type Place = {
  readonly channel: LockedChannel;
  readonly canonicalVersion: string;
  readonly held: HeldSnapshot | undefined;
};

/** Runs a change on a locked channel between two reads of what the channel and its followers serve. */
export async function around<Value, Kind extends FailureKind>(
  sql: ActorSql,
  { channel, canonicalVersion, held }: Place,
  change: () => Promise<Outcome<Changed<Value>, Kind>>,
): Promise<Outcome<DryRunResult<Value>, Kind>> {
  const { ref } = channel.app;
  const before = await readServedOn(sql, ref, channel.name, held?.(channel.name));
  const followers: ServingSnapshot[] = [];
  for (const name of channel.followers) {
    followers.push(await readServedOn(sql, ref, name, held?.(name)));
  }
  watchDryRun(sql, [channel]);
  const changed = await change();
  if (isFailure(changed)) return changed;
  const others: DryRunPlace[] = [];
  for (const follower of followers) {
    const after = await readServedOn(sql, ref, follower.channel, follower);
    others.push({ before: follower, after });
  }
  const after = await readServedOn(sql, ref, channel.name, before);
  const alsoOn = await listOthers(sql, channel, canonicalVersion);
  const wait = waitWarning(sql);
  const concerns = wait === undefined ? [] : [{ path: 'channel', message: wait }];
  return { value: changed.value, places: [{ before, after }, ...others], alsoOn, concerns };
}

/** Lists the app's other channels on which the version is published. */
async function listOthers(
  sql: Sql,
  { id, app }: LockedChannel,
  canonicalVersion: string,
): Promise<readonly string[]> {
  const rows = await sql.query<{ name: string }>(
    `SELECT channels.name FROM channels JOIN releases ON releases.channel_id = channels.id
     WHERE channels.app_id = $1 AND channels.id <> $2
       AND releases.canonical_version = $3 AND releases.status = 'published'
     ORDER BY channels.name`,
    [app.id, id, canonicalVersion],
  );
  return rows.map(({ name }) => name);
}
