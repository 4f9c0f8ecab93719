// Transaction that publishes a release on a channel.

import {
  type Failure,
  fail,
  isFailure,
  type LostRight,
  type Outcome,
} from '../../contract/failure.ts';
import type { ChannelRevision } from '../changed.ts';
import type { KnownStates } from '../known-state.ts';
import type { NewRelease, Published, PublishObstacle } from '../ledger.ts';
import type { Actor } from '../ledger-terms.ts';
import type { Reach } from '../reach.ts';
import type { RepeatableCall } from '../repeatable-call.ts';
import { type ActorSql, atomically } from './atomically.ts';
import type { Database, Sql } from './database.ts';
import { findRepeated } from './find-repeated.ts';
import { insertArtifacts } from './insert-artifacts.ts';
import { type LockedChannel, lockChannel } from './lock-channel.ts';
import { newId } from './new-id.ts';
import { readRelease } from './read-release.ts';
import { recordChannelChange } from './record-channel-change.ts';
import { refuseArchived } from './refuse-archived.ts';
import { refuseFullChannel } from './refuse-full-channel.ts';
import { plan } from './rollout-plans.ts';
import { useIdempotencyKey } from './use-idempotency-key.ts';

/** What a publishing transaction does beside publishing. */
type Publishing<Refusal extends 'notPromotable'> = {
  readonly call: RepeatableCall | undefined;
  /** Refusal of the release that is only told to a call that is not repeated. */
  readonly refusal?: Failure<Refusal> | undefined;
  readonly audit: {
    readonly action: 'release.publish' | 'release.promote';
    /** Channel that the release was promoted from. */
    readonly from?: string;
    readonly reason?: string | undefined;
  };
};

/**
 * Stores the release with its artifacts, the new revision and the audit entry in one transaction under the
 * channel's lock. Releases are published to a channel one after another; of several with the same canonical
 * version, exactly one is stored.
 */
export function publishRelease(
  database: Database,
  reach: Reach,
  release: NewRelease,
  actor: Actor,
  call?: RepeatableCall,
  known?: KnownStates,
): Promise<Outcome<Published, 'unknownApp' | 'unknownChannel' | PublishObstacle | LostRight>> {
  return atomically<Published, 'unknownApp' | 'unknownChannel' | PublishObstacle>(
    database,
    actor,
    async (sql) => {
      const channel = await lockChannel(sql, reach, release.app, release.channel, known);
      if (isFailure(channel)) return channel;
      return publishOn<never>(sql, channel, release, {
        call,
        audit: { action: 'release.publish' },
      });
    },
  );
}

/** Publishes on a locked channel, or returns what the same call has published before. */
export async function publishOn<Refusal extends 'notPromotable' = never>(
  sql: ActorSql,
  channel: LockedChannel,
  release: NewRelease,
  { call, refusal, audit }: Publishing<Refusal>,
): Promise<Outcome<Published, PublishObstacle | Refusal>> {
  const repeated = call && (await findRepeated(sql, call));
  if (isFailure(repeated)) return repeated;
  if (repeated !== undefined) {
    return { value: repeated, changed: await readPlaces(sql, channel), isRepeated: true };
  }
  const archived = await refuseArchived(sql, channel.app.id);
  if (archived !== undefined) return archived;
  const refused = refusal ?? (await settleWithdrawal(sql, channel.id, release.canonicalVersion));
  if (refused !== undefined) return refused;
  const { version, status, targets, artifacts } = release;
  const rolloutPct =
    release.plan === undefined ? (release.rolloutPct ?? channel.defaultRollout) : 0;
  const id = await insertRelease(sql, channel.id, { ...release, rolloutPct }, sql.actor);
  if (id === undefined) return fail('versionExists');
  await insertArtifacts(sql, id, artifacts);
  const full = await refuseFullChannel(sql, channel.id);
  if (full !== undefined) return full;
  const { action, from, reason } = audit;
  const after = { version, status, rolloutPct, targets, artifacts: artifacts.length };
  const changed = await recordChannelChange(sql, channel, {
    action,
    version,
    before: null,
    after: from === undefined ? after : { ...after, from },
    reason,
  });
  if (release.plan !== undefined) {
    const planned = { status, rolloutPct, wasPublished: status === 'published' };
    const refused = await plan(sql, channel, { id, version }, planned, release.plan);
    if (isFailure(refused)) throw new Error(`A new release can have no plan: ${refused.message}`);
  }
  const value = await readRelease(sql, id);
  const used = call && (await useIdempotencyKey(sql, call, value));
  return used ?? { value, changed, isRepeated: false };
}

/**
 * Returns the present states of the channel and its followers: a node that has not heard of them yet must
 * serve them when it answers.
 */
function readPlaces(sql: Sql, { id, app }: LockedChannel): Promise<readonly ChannelRevision[]> {
  return sql.query<ChannelRevision>(
    `SELECT $2::text AS "appRef", name AS channel, id AS "channelId", present_epoch() AS epoch, revision
     FROM channels WHERE id = $1 OR follows = $1`,
    [id, app.ref],
  );
}

/**
 * Refuses a version that was withdrawn here to the code host that announces it again; whoever else publishes
 * it ends the withdrawal.
 */
async function settleWithdrawal(
  sql: ActorSql,
  channelId: string,
  canonicalVersion: string,
): Promise<Failure<'versionWithdrawn'> | undefined> {
  const ofVersion = 'withdrawn_versions WHERE channel_id = $1 AND canonical_version = $2';
  const values = [channelId, canonicalVersion];
  if (sql.actor.kind === 'integration') {
    const rows = await sql.query(`SELECT FROM ${ofVersion}`, values);
    return rows.length === 0 ? undefined : fail('versionWithdrawn');
  }
  await sql.query(`DELETE FROM ${ofVersion}`, values);
  return undefined;
}

type ResolvedRelease = NewRelease & { readonly rolloutPct: number };

/** Returns the new release's id, undefined when the channel has the version already. */
async function insertRelease(
  sql: Sql,
  channelId: string,
  release: ResolvedRelease,
  actor: Actor,
): Promise<string | undefined> {
  const { version, canonicalVersion, notes, status, rolloutPct, targets, hold } = release;
  const rows = await sql.query<{ id: string }>(
    `INSERT INTO releases
       (id, channel_id, version, canonical_version, notes, status, rollout_pct, targets, source, hold)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     ON CONFLICT (channel_id, canonical_version) DO NOTHING RETURNING id`,
    [
      newId('rel'),
      channelId,
      version,
      canonicalVersion,
      notes,
      status,
      rolloutPct,
      targets === null ? null : JSON.stringify(targets),
      actor.kind === 'integration' ? 'webhook' : 'api',
      hold ?? null,
    ],
  );
  return rows[0]?.id;
}
