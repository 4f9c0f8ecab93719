// SQL of releases that a code host announces, changes or retracts, and of events about releases that the
// ledger does not have.

import { isFailure, type Outcome } from '../../../contract/failure.ts';
import { LIMIT } from '../../../contract/limit.ts';
import {
  type ChangedRelease,
  type FirstStep,
  type NextStep,
  type StandingRelease,
  takeFirst,
  takeNext,
} from '../../../domain/release/host/announcement.ts';
import {
  type HostMemory,
  type HostRelease,
  joinEvents,
  type KnownHostRelease,
} from '../../../domain/release/host/host-release.ts';
import {
  judgeRetraction,
  type RetractionOutcome,
  rememberRetraction,
} from '../../../domain/release/host/retraction.ts';
import type { Announced, NewAnnouncement, NewRetraction } from '../../console-ledger.ts';
import type { Actor, Changed, KnownStates, NewArtifact, ReleaseName } from '../../ledger-terms.ts';
import { type ActorSql, atomically } from '../change/atomically.ts';
import {
  type LockedChannel,
  lockChannel,
  recordChannelChange,
  refuseArchived,
} from '../change/channels.ts';
import { asksForApproval } from '../change/exposure.ts';
import { followPlan } from '../change/plan-rows.ts';
import { ALL_ARTIFACTS_JSON, columns, jsonObject, jsonOrNull, msOf } from '../database/columns.ts';
import type { Database, Sql } from '../database/database.ts';
import { readTime } from '../fleet/check-ins.ts';
import { endStopOf } from '../rollout/stops.ts';
import { readRelease } from './release-reads.ts';
import { insertArtifacts, publishOn, refuseFullChannel } from './releases.ts';

type Answer = Outcome<Changed<Announced>>;
type Step = FirstStep<NewArtifact> | NextStep<NewArtifact>;
type StepOf<Name extends Step['step']> = Extract<Step, { readonly step: Name }>;

/**
 * Handles an announcement: creates the release, or completes one that was never offered (`takeFirst` and
 * `takeNext`). Reads the present release and the remembered events, and stores the result, the new revision
 * and the audit entry, in one transaction under the channel's lock, for which first offers and other events
 * wait. `changed` is empty when no channel serves a new state.
 */
export function announceRelease(
  database: Database,
  organizationId: string,
  announced: NewAnnouncement,
  actor: Actor,
  known?: KnownStates,
): Promise<Outcome<Changed<Announced>>> {
  return atomically(database, actor, async (sql) => {
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
      const step = keptBack(channel, standing, takeNext(standing, memory, announced));
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

/**
 * Restricts a step on a channel that asks for approvals, so that devices get nothing new by it: it neither
 * publishes a release nor changes the files or notes of a published one.
 */
function keptBack(
  channel: LockedChannel,
  { status, host }: AnnouncedRelease,
  step: NextStep<NewArtifact>,
): NextStep<NewArtifact> {
  if (step.step !== 'change' || !asksForApproval(channel)) return step;
  const isOther = step.hasNewFiles || step.hasNewNotes;
  if (status === 'published' && isOther) return { step: 'leave', host, left: 'approved' };
  return { ...step, status };
}

async function create(
  sql: ActorSql,
  channel: LockedChannel,
  { name, version, holdOf }: NewAnnouncement,
  { host, notes, artifacts }: StepOf<'create'>,
): Promise<Answer> {
  // On a channel that asks for approvals, a person publishes it, whatever the webhook's `hold` says.
  const hold = asksForApproval(channel) ? 'by-hand' : holdOf(artifacts);
  const status = hold === undefined ? 'published' : 'paused';
  const serving = { status, rolloutPct: undefined, targets: null, hold } as const;
  const content = { ...name, version, notes, artifacts, ...serving };
  const published = await publishOn(sql, channel, content);
  if (isFailure(published)) return published;
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
  const nothing = { deletedAt: null, publishedAt: null, retractedAt: null };
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
  const { artifacts, notes, hasNewFiles, hasNewNotes, isMadeAnew, isRetracted, status } = step;
  if (hasNewFiles) {
    await sql.query('DELETE FROM artifacts WHERE release_id = $1', [id]);
    await insertArtifacts(sql, id, artifacts);
  }
  if (hasNewNotes) await sql.query('UPDATE releases SET notes = $2 WHERE id = $1', [id, notes]);
  const full = await refuseFullChannel(sql, channel.id);
  if (full !== undefined) return full;
  await storeServing(sql, channel, standing, step);
  await storeHost(sql, id, step.host);
  const stateOf = (count: number, content: Pick<AnnouncedRelease, 'status' | 'notes'>) => ({
    artifacts: count,
    ...(status === standing.status ? {} : { status: content.status }),
    ...(hasNewNotes ? { notes: content.notes } : {}),
  });
  const changed = await recordChannelChange(sql, channel, {
    action: 'release.complete',
    version,
    before: stateOf(former.length, standing),
    after: stateOf(artifacts.length, step),
    isFirst: status === 'published' && standing.hold !== null,
    ...(isMadeAnew ? { reason: 'made anew by the code host' } : {}),
  });
  const before = { status: standing.status, artifacts: former.length };
  const release = await readRelease(sql, id);
  const told = { release, before, hasNewFiles, hasNewNotes, isMadeAnew, isRetracted };
  return { value: { outcome: 'changed', ...told }, changed };
}

/** Stores the status. A held release that publishes itself starts at 0 % if it has a scheduled plan. */
async function storeServing(
  sql: ActorSql,
  channel: LockedChannel,
  standing: AnnouncedRelease,
  { status, isRetracted }: ChangedRelease<NewArtifact>,
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
    [standing.id, status, planned, isRetracted],
  );
}

// Remembered events about releases of a code host (`HostMemory`). Call these under the channel's lock.

const MEMORY = `SELECT ${columns<HostMemory<NewArtifact>>({
  deletedAt: msOf('deleted_at'),
  publishedAt: msOf('host_published_at'),
  retractedAt: msOf('called_back_at'),
  files: 'files',
})} FROM host_memories
  WHERE channel_id = $1 AND provider = $2 AND host_id = $3 AND canonical_version = $4
    AND noted_at > clock_timestamp() - make_interval(secs => ${LIMIT.hostMemoryMs / 1000})`;

const STORE = `
  INSERT INTO host_memories
    (channel_id, provider, host_id, canonical_version, deleted_at, host_published_at, called_back_at,
     files)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
  ON CONFLICT (channel_id, provider, host_id, canonical_version) DO UPDATE SET
    (noted_at, deleted_at, host_published_at, called_back_at, files) = (excluded.noted_at,
      excluded.deleted_at, excluded.host_published_at, excluded.called_back_at, excluded.files)`;

/** Deletes a channel's oldest rows beyond the limit, and those that are too old to be read. */
const FORGET = `
  DELETE FROM host_memories WHERE channel_id = $1 AND (
    noted_at <= clock_timestamp() - make_interval(secs => ${LIMIT.hostMemoryMs / 1000})
    OR (provider, host_id, canonical_version) IN (
      SELECT provider, host_id, canonical_version FROM host_memories WHERE channel_id = $1
      ORDER BY noted_at DESC, host_id DESC OFFSET ${LIMIT.hostMemoriesMax}
    )
  )`;

/** Release of a code host, by the version of its tag, on a channel. */
type HostPlace = {
  readonly channelId: string;
  readonly canonicalVersion: string;
  readonly host: HostRelease;
};

/** Returns the remembered event about a release; undefined if there is none. */
async function readHostMemory(
  sql: Sql,
  place: HostPlace,
): Promise<HostMemory<NewArtifact> | undefined> {
  const rows = await sql.query<HostMemory<NewArtifact>>(MEMORY, keyOf(place));
  return rows[0];
}

/** Replaces the remembered event, and deletes the channel's oldest ones beyond the limit. */
async function storeHostMemory(
  sql: Sql,
  place: HostPlace,
  { deletedAt, publishedAt, retractedAt, files }: HostMemory<NewArtifact>,
): Promise<void> {
  if (place.host.id === null) return;
  await sql.query(STORE, [
    ...keyOf(place),
    ...[deletedAt, publishedAt, retractedAt].map(timeOf),
    jsonOrNull(files),
  ]);
  await sql.query(FORGET, [place.channelId]);
}

function keyOf({ channelId, canonicalVersion, host }: HostPlace): (string | number | null)[] {
  return [channelId, host.provider, host.id, canonicalVersion];
}

/** Converts milliseconds since 1970 to a timestamp (ISO 8601) as a parameter; null stays null. */
function timeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

type RetractReleaseAnswer = Changed<RetractionOutcome | undefined>;

/**
 * Pauses the release that its code host has retracted (`judgeRetraction`), and remembers the event, so that
 * an announcement that arrives later has no effect. Stores the status, the new revision and the audit entry
 * in one transaction under the channel's lock. A held release can no longer publish itself, even if its
 * status does not change. The value is the outcome for the release; undefined when there is no release.
 */
export function retractRelease(
  database: Database,
  organizationId: string,
  name: ReleaseName,
  call: NewRetraction,
  actor: Actor,
  known?: KnownStates,
): Promise<Outcome<RetractReleaseAnswer>> {
  return atomically(database, actor, async (sql) => {
    const channel = await lockChannel(sql, organizationId, name.app, name.channel, known);
    if (isFailure(channel)) return channel;
    const { canonicalVersion } = name;
    await rememberRetractedRelease(
      sql,
      { channelId: channel.id, canonicalVersion, host: call.host },
      call,
    );
    const release = await announcedRelease(sql, channel.id, canonicalVersion);
    const value = release && judgeRetraction(release, call);
    if (release === undefined || (value !== 'paused' && value !== 'unserved')) {
      return { value, changed: [] };
    }
    await keepBack(sql, release, call, value === 'paused');
    if (value === 'unserved') return { value, changed: [] };
    const { version, status, rolloutPct } = release;
    const published = { status, rolloutPct, wasPublished: true };
    await followPlan(sql, channel, release, published, { ...published, status: 'paused' });
    const changed = await recordChannelChange(sql, channel, {
      action: 'release.serve',
      version,
      before: { status },
      after: { status: 'paused' },
      reason: call.reason,
    });
    return { value, changed };
  });
}

async function rememberRetractedRelease(
  sql: Sql,
  place: HostPlace,
  call: NewRetraction,
): Promise<void> {
  const before = await readHostMemory(sql, place);
  const memory = rememberRetraction(call, before, await readTime(sql));
  if (memory !== undefined) await storeHostMemory(sql, place, memory);
}

/** Stores the retraction, unless a person has paused the release already; a stop no longer resumes it. */
async function keepBack(
  sql: Sql,
  { id, hold, host, isRetracted }: AnnouncedRelease,
  call: NewRetraction,
  isPaused: boolean,
): Promise<void> {
  await storeHost(sql, id, joinEvents(host, call.host));
  await endStopOf(sql, id);
  await sql.query(
    `UPDATE releases SET called_back = $2, status = CASE WHEN $3 THEN 'paused' ELSE status END
     WHERE id = $1`,
    [id, isRetracted || isPaused || hold !== null, isPaused],
  );
}

type AnnouncedRelease = StandingRelease<NewArtifact> & {
  readonly id: string;
  readonly version: string;
  readonly rolloutPct: number;
};

const RELEASE = `SELECT ${columns<AnnouncedRelease>({
  id: 'id',
  version: 'version',
  isAnnounced: "source = 'webhook'",
  offered: 'offered_at IS NOT NULL',
  status: 'status',
  rolloutPct: 'rollout_pct',
  hold: 'hold',
  isRetracted: 'called_back',
  host: jsonObject<KnownHostRelease>({
    provider: 'announced_by',
    id: 'host_id',
    tag: 'host_tag',
    changedAt: msOf('announced_at'),
    publishedAt: msOf('host_published_at'),
    filesTo: msOf('host_files_at'),
  }),
  notes: 'notes',
  artifacts: ALL_ARTIFACTS_JSON,
})} FROM releases WHERE channel_id = $1 AND canonical_version = $2 FOR UPDATE`;

/** Returns the release of this version and locks it; undefined if there is none. */
async function announcedRelease(
  sql: Sql,
  channelId: string,
  canonicalVersion: string,
): Promise<AnnouncedRelease | undefined> {
  const rows = await sql.query<AnnouncedRelease>(RELEASE, [channelId, canonicalVersion]);
  return rows[0];
}

/** Stores what the code host's events say about its release. */
async function storeHost(sql: Sql, id: string, host: KnownHostRelease): Promise<void> {
  await sql.query(
    `UPDATE releases SET announced_by = $2, host_id = $3, host_tag = $4, announced_at = $5,
       host_published_at = $6, host_files_at = $7
     WHERE id = $1`,
    [
      ...[id, host.provider, host.id, host.tag],
      ...[host.changedAt, host.publishedAt, host.filesTo].map(timeOf),
    ],
  );
}
