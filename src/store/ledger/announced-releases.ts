// Transaction that takes what a code host announces: it creates the release, or completes what stands.

import { isFailure, type LostRight, type Outcome } from '../../contract/failure.ts';
import {
  type ChangedRelease,
  type FirstStep,
  type NextStep,
  takeFirst,
  takeNext,
} from '../../domain/release/announcement.ts';
import type { HostMemory } from '../../domain/release/host-release.ts';
import type { Changed } from '../changed.ts';
import type { KnownStates } from '../known-state.ts';
import type { Actor } from '../ledger-terms.ts';
import type { NewArtifact } from '../new-artifact.ts';
import type { Announced, AnnouncementObstacle, NewAnnouncement } from '../webhook-ledger.ts';
import { type AnnouncedRelease, announcedRelease, storeHost } from './announced-release.ts';
import { type ActorSql, atomically } from './atomically.ts';
import type { Database, Sql } from './database.ts';
import { followPlan } from './follow-plan.ts';
import { type HostPlace, readHostMemory, storeHostMemory } from './host-memory.ts';
import { insertArtifacts } from './insert-artifacts.ts';
import { type LockedChannel, lockChannel } from './lock-channel.ts';
import { readRelease } from './read-release.ts';
import { recordChannelChange } from './record-channel-change.ts';
import { refuseArchived } from './refuse-archived.ts';
import { refuseFullChannel } from './refuse-full-channel.ts';
import { publishOn } from './releases.ts';

type Answer = Outcome<Changed<Announced>, AnnouncementObstacle>;
type Step = FirstStep<NewArtifact> | NextStep<NewArtifact>;
type StepOf<Name extends Step['step']> = Extract<Step, { readonly step: Name }>;

/**
 * Reads what stands and what is remembered, and stores what becomes of it, the new revision and the audit
 * entry in one transaction under the channel's lock, for which first offers and all other events wait.
 */
export function announceRelease(
  database: Database,
  organizationId: string,
  announced: NewAnnouncement,
  actor: Actor,
  known?: KnownStates,
): Promise<Outcome<Changed<Announced>, AnnouncementObstacle | LostRight>> {
  return atomically<Changed<Announced>, AnnouncementObstacle>(database, actor, async (sql) => {
    const { name, host, isEdit } = announced;
    const channel = await lockChannel(sql, organizationId, name.app, name.channel, known);
    if (isFailure(channel)) return channel;
    const archived = isEdit ? undefined : await refuseArchived(sql, channel.app.id);
    if (archived !== undefined) return archived;
    const { canonicalVersion } = name;
    const place = { channelId: channel.id, canonicalVersion, host };
    const memory = await readHostMemory(sql, place);
    const standing = await announcedRelease(sql, channel.id, canonicalVersion);
    if (standing !== undefined) {
      const step = takeNext(standing, memory, announced);
      if (step.step === 'leave') return leave(sql, standing, step);
      if (step.step === 'change') return change(sql, channel, standing, step);
      return remember(sql, place, memory, step);
    }
    const step = takeFirst(memory, announced);
    if (step.step === 'refuse') return { value: { outcome: 'over' }, changed: [] };
    if (step.step === 'create') return create(sql, channel, announced, step);
    return remember(sql, place, memory, step);
  });
}

async function create(
  sql: ActorSql,
  channel: LockedChannel,
  { name, version, notes, holdOf }: NewAnnouncement,
  { host, artifacts }: StepOf<'create'>,
): Promise<Answer> {
  const hold = holdOf(artifacts);
  const status = hold === undefined ? 'published' : 'paused';
  const serving = { status, rolloutPct: undefined, targets: null, hold } as const;
  const published = await publishOn<never>(
    sql,
    channel,
    { ...name, version, notes, artifacts, ...serving },
    { call: undefined, audit: { action: 'release.publish' } },
  );
  if (isFailure(published)) {
    const { failure } = published;
    if (failure === 'versionExists' || failure === 'idempotencyKeyUsed') {
      throw new Error(`Under the lock of its channel, a new release cannot be refused: ${failure}`);
    }
    return { ...published, failure };
  }
  const { value: release, changed } = published;
  await storeHost(sql, release.id, host);
  return { value: { outcome: 'created', release }, changed };
}

async function remember(
  sql: Sql,
  place: HostPlace,
  memory: HostMemory<NewArtifact> | undefined,
  { files }: StepOf<'remember'>,
): Promise<Answer> {
  const nothing = { deletedAt: null, publishedAt: null, calledBackAt: null };
  await storeHostMemory(sql, place, { ...nothing, ...memory, files });
  return { value: { outcome: 'remembered' }, changed: [] };
}

async function leave(
  sql: Sql,
  { id, host: before }: AnnouncedRelease,
  { host, left }: StepOf<'leave'>,
): Promise<Answer> {
  if (JSON.stringify(host) !== JSON.stringify(before)) await storeHost(sql, id, host);
  const release = await readRelease(sql, id);
  return { value: { outcome: 'left', release, left }, changed: [] };
}

async function change(
  sql: ActorSql,
  channel: LockedChannel,
  standing: AnnouncedRelease,
  step: ChangedRelease<NewArtifact>,
): Promise<Answer> {
  const { id, version, artifacts: former } = standing;
  const { artifacts, isMadeAnew, isCalledBack, status } = step;
  await sql.query('DELETE FROM artifacts WHERE release_id = $1', [id]);
  await insertArtifacts(sql, id, artifacts);
  const full = await refuseFullChannel(sql, channel.id);
  if (full !== undefined) return full;
  await storeServing(sql, channel, standing, step);
  await storeHost(sql, id, step.host);
  const isServed = status !== standing.status;
  const changed = await recordChannelChange(sql, channel, {
    action: 'release.complete',
    version,
    before: { artifacts: former.length, ...(isServed ? { status: standing.status } : {}) },
    after: { artifacts: artifacts.length, ...(isServed ? { status } : {}) },
    ...(isMadeAnew ? { reason: 'made anew by the code host' } : {}),
  });
  const before = { status: standing.status, artifacts: former.length };
  const release = await readRelease(sql, id);
  return { value: { outcome: 'changed', release, before, isMadeAnew, isCalledBack }, changed };
}

/** Stores the status; a held release that publishes itself is at 0 % under a plan that waits for it. */
async function storeServing(
  sql: ActorSql,
  channel: LockedChannel,
  standing: AnnouncedRelease,
  { status, isCalledBack }: ChangedRelease<NewArtifact>,
): Promise<void> {
  const { rolloutPct, hold } = standing;
  const isPublished = status === 'published' && standing.status !== 'published';
  const before = { status: standing.status, rolloutPct, wasPublished: hold === null };
  const planned = isPublished
    ? await followPlan(sql, channel, standing, before, { status, rolloutPct, wasPublished: true })
    : rolloutPct;
  await sql.query(
    `UPDATE releases SET status = $2, rollout_pct = $3, called_back = $4,
       hold = CASE WHEN $2 = 'published' THEN NULL ELSE hold END
     WHERE id = $1`,
    [standing.id, status, planned, isCalledBack],
  );
}
