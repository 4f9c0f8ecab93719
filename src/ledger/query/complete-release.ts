// Transaction that adds artifacts to a release that a code host announces once more.

import {
  type Failure,
  isFailure,
  type LostRight,
  type Outcome,
  type UnknownRelease,
} from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { Release } from '../../contract/resource.ts';
import { mergeAssets } from '../../domain/release/merge-assets.ts';
import type { Actor } from '../../ports/actor.ts';
import type { Changed } from '../../ports/changed.ts';
import type { KnownStates } from '../../ports/known-state.ts';
import type { NewArtifact } from '../../ports/new-artifact.ts';
import type { ReleaseName } from '../../ports/release-name.ts';
import type { AnnouncedAssets } from '../../ports/webhook-ledger.ts';
import { type ActorSql, atomically } from '../atomically.ts';
import type { Database, Sql } from '../database.ts';
import { type AnnouncedRelease, announcedRelease } from './announced-release.ts';
import { followPlan } from './follow-plan.ts';
import { insertArtifacts } from './insert-artifacts.ts';
import { type LockedChannel, lockChannel } from './lock-channel.ts';
import { readRelease } from './read-release.ts';
import { recordChannelChange } from './record-channel-change.ts';
import { refuseFullChannel } from './refuse-full-channel.ts';

/**
 * Stores the artifacts, the new revision and the audit entry in one transaction under the channel's lock,
 * which a first offer waits for as well. Changes nothing when the release may get no artifacts (any more).
 * A held release that has all it waited for is published in the same step.
 */
export function completeRelease(
  database: Database,
  organizationId: string,
  name: ReleaseName,
  { artifacts, at, isComplete }: AnnouncedAssets,
  actor: Actor,
  known?: KnownStates,
): Promise<Outcome<Changed<Release>, UnknownRelease | 'channelFull' | LostRight>> {
  return atomically(database, actor, async (sql) => {
    const channel = await lockChannel(sql, organizationId, name.app, name.channel, known);
    if (isFailure(channel)) return channel;
    const found = await announcedRelease(sql, channel.id, name.canonicalVersion, at);
    if (isFailure(found)) return found;
    const all = mergedArtifacts(found, artifacts);
    if (all === undefined) return { value: await readRelease(sql, found.id), changed: [] };
    const refusal = await replaceArtifacts(sql, channel.id, found.id, all);
    if (refusal !== undefined) return refusal;
    const isPublished = found.hold === 'expecting' && isComplete(all);
    const rolloutPct = isPublished ? await publishPlanned(sql, channel, found) : found.rolloutPct;
    await sql.query(
      `UPDATE releases SET announced_at = coalesce($2, announced_at),
         status = CASE WHEN $3 THEN 'published' ELSE status END,
         hold = CASE WHEN $3 THEN NULL ELSE hold END,
         rollout_pct = $4
       WHERE id = $1`,
      [found.id, at ?? null, isPublished, rolloutPct],
    );
    const changed = await recordChannelChange(sql, channel, {
      action: 'release.complete',
      version: found.version,
      before: { artifacts: found.artifacts.length },
      after: { artifacts: all.length, ...(isPublished ? { status: 'published' } : {}) },
    });
    return { value: await readRelease(sql, found.id), changed };
  });
}

/** Returns the roll-out of a held release that publishes itself: 0 % under a plan that waits for it. */
function publishPlanned(
  sql: ActorSql,
  channel: LockedChannel,
  release: AnnouncedRelease,
): Promise<number> {
  const { status, rolloutPct } = release;
  const before = { status, rolloutPct, wasPublished: false };
  const after = { status: 'published', rolloutPct, wasPublished: true } as const;
  return followPlan(sql, channel, release, before, after);
}

function mergedArtifacts(
  { isAnnounced, offered, status, hold, isNewer, artifacts }: AnnouncedRelease,
  announced: readonly NewArtifact[],
): readonly NewArtifact[] | undefined {
  if (!isAnnounced || offered || status === 'rolled_back' || isNewer) return undefined;
  return mergeAssets(artifacts, announced, hold !== null)?.slice(0, LIMIT.artifactCountMax);
}

async function replaceArtifacts(
  sql: Sql,
  channelId: string,
  releaseId: string,
  artifacts: readonly NewArtifact[],
): Promise<Failure<'channelFull'> | undefined> {
  await sql.query('DELETE FROM artifacts WHERE release_id = $1', [releaseId]);
  await insertArtifacts(sql, releaseId, artifacts);
  return refuseFullChannel(sql, channelId);
}
