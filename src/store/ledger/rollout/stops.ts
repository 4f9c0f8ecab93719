// SQL of stops: pauses all that an app or a channel has published, and publishes again what a stop has paused
// and nobody has changed since.

import { fail, isFailure, type Outcome } from '../../../contract/failure.ts';
import { LIMIT } from '../../../contract/limit.ts';
import type {
  ReleaseStatus,
  ResumedStop,
  ServingState,
  Stop,
  StoppedRelease,
  StopReach,
  Targeting,
} from '../../../contract/resource.ts';
import { isStorable } from '../../../contract/text.ts';
import {
  type ChannelRevision,
  type EndedStop,
  type KnownStates,
  type NewStop,
  scopeValues,
  type TenantScope,
} from '../../ledger-terms.ts';
import type { ActorSql } from '../change/atomically.ts';
import { insertAudits } from '../change/audit.ts';
import type { Change, Locked } from '../change/change.ts';
import {
  findApp,
  findChannel,
  type LockedChannel,
  lockAllChannels,
  lockChannel,
  raiseRevisions,
} from '../change/channels.ts';
import { recordReleaseExposure } from '../change/exposure.ts';
import { findOpenPlans, followPlan } from '../change/plan-rows.ts';
import { newId } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';

/** Release of a locked channel whose status a stop, or its end, sets. */
type ServedRelease = Pick<ServingState, 'version' | 'rolloutPct'> & {
  readonly id: string;
  readonly channelId: string;
  readonly targets: Targeting | null;
};

const SERVED = `id, channel_id AS "channelId", version, rollout_pct AS "rolloutPct", targets`;

/**
 * Pauses all that is published on the channels, and holds the plans, in one transaction under the locks of
 * all of them: a first offer of one of the releases either committed before, or finds the revision moved.
 * Each release has its audit entry, which names the stop. What is published after the locks is no part of it.
 * A stop has no condition on what its author has seen, because it is meant for any state.
 */
export const STOP: Change<NewStop, Stop, LockedPlace> = {
  lock: (sql, { scope, input, known }) => lockPlace(sql, scope, input, known),
  async work(sql, { app, channels }, { input: { channel: name }, reason }) {
    const releases = await publishedOn(sql, channels);
    const id = newId('stp');
    await insertStop(sql, id, app.id, name === undefined ? null : channels[0]?.id, releases);
    const ids = releases.map((release) => release.id);
    await sql.query(
      `UPDATE releases SET status = 'paused', called_back = false WHERE id = ANY ($1::text[])`,
      [ids],
    );
    await holdPlans(sql, channels, releases);
    const changed = await record(sql, channels, releases, 'paused', id, reason);
    return { value: { id, releases: namesOf(channels, releases) }, changed };
  },
  answer: (stop) => ({ stop }),
};

/**
 * Publishes the releases of a stop whose status nobody has set since, at their present rollout, and returns
 * for the others why they stay as they are. Their plans stay held, as after every publication of a paused
 * release. A second call publishes nothing.
 */
export const RESUME: Change<EndedStop, ResumedStop, LockedPlace> = {
  async lock(sql, { scope, input, known }) {
    const stop = await findStop(sql, scope, input.stop);
    if (isFailure(stop)) return stop;
    const place = await lockPlace(sql, scope, stop, known);
    // Never happens: neither apps nor channels are ever removed.
    return isFailure(place) ? fail('unknownStop') : place;
  },
  async work(sql, { channels }, { input: { stop } }) {
    const releases = await endWaiting(sql, stop);
    for (const release of releases) {
      const paused = { ...release, status: 'paused' } as const;
      const published = { ...release, status: 'published' } as const;
      const change = { before: paused, after: published };
      await recordReleaseExposure(sql, channelOf(channels, release), release, change);
    }
    const ids = releases.map(({ id }) => id);
    await sql.query(`UPDATE releases SET status = 'published' WHERE id = ANY ($1::text[])`, [ids]);
    const changed = await record(sql, channels, releases, 'published', stop, undefined);
    const left = (await listStopped(sql, stop)).filter(({ id }) => !ids.includes(id));
    return {
      value: {
        released: namesOf(channels, releases),
        changed: left.map(({ channel, version, ...since }) => ({
          channel,
          version,
          reason: reasonOf(since),
        })),
      },
      changed,
    };
  },
  answer: (resumed) => resumed,
};

/** Finds a stop within the caller's scope. */
async function findStop(
  sql: Sql,
  scope: TenantScope | undefined,
  stopId: string,
): Promise<Outcome<NewStop>> {
  if (scope === undefined) return fail('unknownStop');
  const [organizationId, appIds] = scopeValues(scope);
  if (!isStorable(stopId)) return fail('unknownStop');
  const rows = await sql.query<{ readonly app: string; readonly channel: string | null }>(
    `SELECT apps.ref AS app, channels.name AS channel
     FROM stops JOIN apps ON apps.id = stops.app_id
       LEFT JOIN channels ON channels.id = stops.channel_id
     WHERE stops.id = $1 AND apps.organization_id = $2
       AND ($3::text[] IS NULL OR apps.id = ANY ($3))`,
    [stopId, organizationId, appIds],
  );
  const [found] = rows;
  if (found === undefined) return fail('unknownStop');
  return { app: found.app, channel: found.channel ?? undefined };
}

type LockedPlace = Locked & { readonly app: LockedChannel['app'] };

async function lockPlace(
  sql: Sql,
  scope: TenantScope | undefined,
  { app: appName, channel: name }: NewStop,
  known: KnownStates | undefined,
): Promise<Outcome<LockedPlace>> {
  if (name === undefined) {
    const app = await findApp(sql, scope, appName);
    return isFailure(app) ? app : { app, channels: await lockAllChannels(sql, app, known) };
  }
  const channel = await lockChannel(sql, scope, appName, name, known);
  return isFailure(channel) ? channel : { app: channel.app, channels: [channel] };
}

/** Reads what is published on locked channels: in the order of these channels, the oldest first. */
function publishedOn(sql: Sql, channels: readonly LockedChannel[]): Promise<ServedRelease[]> {
  return sql.query<ServedRelease>(
    `SELECT ${SERVED} FROM releases
     WHERE channel_id = ANY ($1::text[]) AND status = 'published'
     ORDER BY array_position($1::text[], channel_id), created_at, id FOR UPDATE`,
    [channels.map(({ id }) => id)],
  );
}

async function insertStop(
  sql: Sql,
  id: string,
  appId: string,
  channelId: string | null | undefined,
  releases: readonly ServedRelease[],
): Promise<void> {
  await sql.query('INSERT INTO stops (id, app_id, channel_id) VALUES ($1, $2, $3)', [
    ...[id, appId, channelId ?? null],
  ]);
  await sql.query(
    `INSERT INTO stopped_releases (stop_id, release_id, channel_id, version, position)
     SELECT $1, release_id, channel_id, version, place - 1
     FROM unnest($2::text[], $3::text[], $4::text[])
       WITH ORDINALITY AS stopped (release_id, channel_id, version, place)`,
    [
      id,
      releases.map((release) => release.id),
      releases.map((release) => release.channelId),
      releases.map((release) => release.version),
    ],
  );
}

async function holdPlans(
  sql: ActorSql,
  channels: readonly LockedChannel[],
  releases: readonly ServedRelease[],
): Promise<void> {
  const plans = await findOpenPlans(
    sql,
    releases.map(({ id }) => id),
  );
  const planned = new Set(plans.map(({ releaseId }) => releaseId));
  for (const release of releases.filter(({ id }) => planned.has(id))) {
    const before = {
      status: 'published',
      rolloutPct: release.rolloutPct,
      wasPublished: true,
    } as const;
    const channel = channelOf(channels, release);
    await followPlan(sql, channel, release, before, { ...before, status: 'paused' });
  }
}

/** Raises the revisions of the channels whose releases were set to a status, and audits each release. */
async function record(
  sql: ActorSql,
  channels: readonly LockedChannel[],
  releases: readonly ServedRelease[],
  status: 'paused' | 'published',
  stop: string,
  reason: string | undefined,
): Promise<readonly ChannelRevision[]> {
  const app = channels[0]?.app;
  if (app === undefined || releases.length === 0) return [];
  const was: ReleaseStatus = status === 'paused' ? 'published' : 'paused';
  const isTold = releases.length > LIMIT.stopEventsMax;
  if (isTold) tellMany(sql, channels, app, releases.length, { status, stop, reason });
  await insertAudits(
    sql,
    releases.map((release) => {
      const { version, rolloutPct, targets } = release;
      const channel = channelOf(channels, release).name;
      return {
        organizationId: app.organizationId,
        action: 'release.serve',
        subject: `${app.ref}/${channel}@${version}`,
        place: { app, channel, version },
        before: { rolloutPct, status: was, targets },
        after: { rolloutPct, status, targets, stop },
        ...{ reason, isTold },
      };
    }),
  );
  return raiseRevisions(sql, app, [...new Set(releases.map(({ channelId }) => channelId))], true);
}

/** Adds one event in place of one for each release, because a stop must not take long. */
function tellMany(
  sql: ActorSql,
  channels: readonly LockedChannel[],
  app: LockedChannel['app'],
  releases: number,
  { reason, ...set }: { status: 'paused' | 'published'; stop: string; reason: string | undefined },
): void {
  const [first, second] = channels;
  const channel = second === undefined && first !== undefined ? first.name : null;
  const place = { app, channel, version: null };
  const type = set.status === 'paused' ? 'release.paused' : 'release.resumed';
  const { organizationId } = app;
  sql.addEvents({ organizationId, place, reason }, [{ type, facts: { ...set, releases } }]);
}

function channelOf(
  channels: readonly LockedChannel[],
  { channelId }: ServedRelease,
): LockedChannel {
  const channel = channels.find(({ id }) => id === channelId);
  if (channel === undefined) throw new Error(`Channel ${channelId} is not locked`);
  return channel;
}

function namesOf(
  channels: readonly LockedChannel[],
  releases: readonly ServedRelease[],
): StoppedRelease[] {
  return releases.map((release) => ({
    channel: channelOf(channels, release).name,
    version: release.version,
  }));
}

// Statements about the releases of a stop, under the locks of their channels.

/** Marks as resumed the releases of a stop that still wait for its end; returns them in their order. */
async function endWaiting(sql: Sql, stopId: string): Promise<readonly ServedRelease[]> {
  return sql.query<ServedRelease>(
    `WITH resumed AS (
       UPDATE stopped_releases SET resumed_at = clock_timestamp() FROM releases
       WHERE stop_id = $1 AND set_at IS NULL AND resumed_at IS NULL
         AND releases.id = release_id AND releases.status = 'paused'
       RETURNING releases.id, releases.channel_id, releases.version, rollout_pct, targets, position
     )
     SELECT ${SERVED} FROM resumed ORDER BY position`,
    [stopId],
  );
}

/** What became of a stopped release: its present status, null once it was withdrawn. */
type StoppedState = { readonly status: ReleaseStatus | null; readonly isResumed: boolean };

function listStopped(
  sql: Sql,
  stopId: string,
): Promise<(StoppedRelease & StoppedState & { readonly id: string })[]> {
  return sql.query(
    `SELECT stopped.release_id AS id, channels.name AS channel, stopped.version, releases.status,
       resumed_at IS NOT NULL AS "isResumed"
     FROM stopped_releases AS stopped JOIN channels ON channels.id = stopped.channel_id
       LEFT JOIN releases ON releases.id = stopped.release_id
     WHERE stop_id = $1 ORDER BY position`,
    [stopId],
  );
}

function reasonOf({ status, isResumed }: StoppedState): string {
  if (isResumed) return 'It was resumed before';
  if (status === null) return 'It was withdrawn';
  return `Its status was set since: it is ${status.replace('_', ' ')}`;
}

/** Records that the status of a release was set, even to the same value; resuming a stop then skips it. */
export async function endStopOf(sql: Sql, releaseId: string): Promise<void> {
  await sql.query(
    `UPDATE stopped_releases SET set_at = clock_timestamp()
     WHERE release_id = $1 AND set_at IS NULL AND resumed_at IS NULL`,
    [releaseId],
  );
}

// Statement that counts what a stop would reach.

/**
 * Counts what a stop of the app, or of one channel of it, would reach: what is published on the channels, and
 * the devices on them and on those that follow them.
 */
export async function measureStop(
  sql: Sql,
  appId: string,
  name: string | undefined,
): Promise<Outcome<StopReach>> {
  const channel = name === undefined ? undefined : await findChannel(sql, appId, name);
  if (isFailure(channel)) return channel;
  const [reach] = await sql.query<StopReach>(
    `WITH served AS (
       SELECT channels.id, channels.follows, name, (
         SELECT count(*) FROM releases WHERE channel_id = channels.id AND status = 'published'
       ) AS published
       FROM channels WHERE app_id = $1
     ), stopped AS (
       SELECT * FROM served WHERE published > 0 AND ($2::text IS NULL OR id = $2)
     )
     SELECT (SELECT coalesce(sum(published), 0) FROM stopped)::float8 AS releases, (
       SELECT coalesce(sum(devices), 0) FROM fleet_counts
       WHERE app_id = $1 AND channel IN (
         SELECT name FROM served
         WHERE id IN (SELECT id FROM stopped) OR follows IN (SELECT id FROM stopped)
       )
     )::float8 AS devices`,
    [appId, channel?.id ?? null],
  );
  if (reach === undefined) throw new Error('The ledger counted nothing');
  return reach;
}
