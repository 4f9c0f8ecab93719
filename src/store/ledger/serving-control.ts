// Transaction that changes how a release is served.

import {
  type Failure,
  type FailureKind,
  fail,
  isFailure,
  type LostRight,
  type Outcome,
  type UnknownRelease,
} from '../../contract/failure.ts';
import type { ReleaseStatus, ServingState } from '../../contract/resource.ts';
import { isStorable } from '../../contract/text.ts';
import type { Served, Serving } from '../../domain/release/serving-change.ts';
import type { Changed } from '../changed.ts';
import type { KnownStates } from '../known-state.ts';
import type { Actor } from '../ledger-terms.ts';
import type { Reach } from '../reach.ts';
import type { ReleaseName } from '../release-name.ts';
import { type ActorSql, atomically } from './atomically.ts';
import type { Database, Sql } from './database.ts';
import { followPlan } from './follow-plan.ts';
import { type LockedChannel, lockChannel } from './lock-channel.ts';
import { recordChannelChange } from './record-channel-change.ts';

type LockedRelease = Serving & {
  readonly id: string;
  readonly version: string;
  readonly wasPublished: boolean;
};
type ServedParts = Omit<Serving, 'offered'>;

/**
 * Stores the serving state, the new revision and the audit entry in one transaction. It locks the channel
 * first, then the release. A first offer either committed before the channel's lock was granted, then
 * `transition` sees it; or it waits for this transaction and finds the revision moved. A transition that
 * changes nothing writes nothing. `offered` is only read, never stored from the transition's result.
 */
export function controlServing<Kind extends FailureKind>(
  database: Database,
  reach: Reach,
  name: ReleaseName,
  transition: (serving: Serving) => Outcome<Served, Kind>,
  actor: Actor,
  reason?: string,
  known?: KnownStates,
): Promise<Outcome<Changed<ServingState>, UnknownRelease | Kind | LostRight>> {
  return atomically<Changed<ServingState>, UnknownRelease | Kind>(database, actor, async (sql) => {
    const channel = await lockChannel(sql, reach, name.app, name.channel, known);
    if (isFailure(channel)) return channel;
    return controlOn(sql, channel, name.canonicalVersion, transition, reason);
  });
}

/** Changes how a release of a locked channel is served. */
export async function controlOn<Kind extends FailureKind>(
  sql: ActorSql,
  channel: LockedChannel,
  canonicalVersion: string,
  transition: (serving: Serving) => Outcome<Served, Kind>,
  reason: string | undefined,
): Promise<Outcome<Changed<ServingState>, 'unknownRelease' | Kind>> {
  const release = await lockRelease(sql, channel.id, canonicalVersion);
  if (isFailure(release)) return release;
  const { offered, ...before } = servingOf(release);
  const outcome = transition({ ...before, offered });
  if (isFailure(outcome)) return outcome;
  const { offered: _, ...asked } = servingOf(outcome);
  const { wasPublished } = release;
  const isPublished = wasPublished || asked.status === 'published';
  const rolloutPct = await followPlan(
    ...([sql, channel, release, { ...before, wasPublished }] as const),
    { ...asked, wasPublished: isPublished },
  );
  const after = { ...asked, rolloutPct };
  if (outcome.isStatusSet) await endWaiting(sql, release.id, after.status);
  const value = stateOf(channel, release.version, after);
  if (isSame(before, after)) return { value, changed: [] };
  await storeServing(sql, release.id, after);
  const changed = await recordChannelChange(sql, channel, {
    action: 'release.serve',
    version: release.version,
    before,
    after,
    reason,
  });
  return { value, changed };
}

async function lockRelease(
  sql: Sql,
  channelId: string,
  canonicalVersion: string,
): Promise<LockedRelease | Failure<'unknownRelease'>> {
  if (!isStorable(canonicalVersion)) return fail('unknownRelease');
  const rows = await sql.query<LockedRelease>(
    `SELECT id, version, rollout_pct AS "rolloutPct", status, targets,
       offered_at IS NOT NULL AS offered, published_at IS NOT NULL AS "wasPublished"
     FROM releases WHERE channel_id = $1 AND canonical_version = $2 FOR UPDATE`,
    [channelId, canonicalVersion],
  );
  return rows[0] ?? fail('unknownRelease');
}

/**
 * Keeps a held release from publishing itself once somebody has set its status, also to what it was; one that
 * is published is not held any more. What its code host called back is from then on as somebody left it.
 */
async function endWaiting(sql: Sql, id: string, status: ReleaseStatus): Promise<void> {
  await sql.query(
    `UPDATE releases SET hold = CASE WHEN hold IS NOT NULL THEN $2 END, called_back = false
     WHERE id = $1 AND (hold IS NOT NULL OR called_back)`,
    [id, status === 'published' ? null : 'by-hand'],
  );
}

function servingOf({ rolloutPct, status, targets, offered }: Serving): Serving {
  return { rolloutPct, status, targets, offered };
}

function stateOf(channel: LockedChannel, version: string, after: ServedParts): ServingState {
  const { rolloutPct, status, targets } = after;
  return { app: channel.app.ref, channel: channel.name, version, rolloutPct, status, targets };
}

/**
 * Compares targeting as JSON text, because the order of keys counts as a change: the API answers targeting as
 * it was given.
 */
function isSame(before: ServedParts, after: ServedParts): boolean {
  return (
    before.rolloutPct === after.rolloutPct &&
    before.status === after.status &&
    JSON.stringify(before.targets) === JSON.stringify(after.targets)
  );
}

async function storeServing(sql: Sql, id: string, after: ServedParts): Promise<void> {
  const { rolloutPct, status, targets } = after;
  await sql.query('UPDATE releases SET rollout_pct = $2, status = $3, targets = $4 WHERE id = $1', [
    id,
    rolloutPct,
    status,
    targets === null ? null : JSON.stringify(targets),
  ]);
}
