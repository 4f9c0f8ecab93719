// SQL of serving control: changes how a release is served, records its first offer, and raises the epoch.

import { type Failure, fail, isFailure, type Outcome } from '../../../contract/failure.ts';
import type { ReleaseStatus, ServingState } from '../../../contract/resource.ts';
import { isStorable } from '../../../contract/text.ts';
import type { ServingOrder } from '../../../domain/decision/serving-snapshot.ts';
import type { Serving } from '../../../domain/release/serving-change.ts';
import type { Changed, Concern, RaisedEpoch, ServingCall } from '../../ledger-terms.ts';
import type { ActorSql } from '../change/atomically.ts';
import { type Change, type LockedOne, lockOne } from '../change/change.ts';
import { type LockedChannel, recordChannelChange } from '../change/channels.ts';
import { recordReleaseExposure } from '../change/exposure.ts';
import { findPlan, findPlannedRelease, followPlan } from '../change/plan-rows.ts';
import { jsonOrNull } from '../database/columns.ts';
import type { Database, Sql } from '../database/database.ts';
import { readIdentity } from '../database/database-identity.ts';
import { exceededLimits } from './release-health.ts';
import { endStopOf } from './stops.ts';

type LockedRelease = Serving & {
  readonly id: string;
  readonly version: string;
  readonly wasPublished: boolean;
};
type ServedParts = Omit<Serving, 'offered'>;

/**
 * Changes how a release is served: passes the present state to `transition` (pure), and stores its result,
 * the new revision and the audit entry in one transaction. Locks the channel, then the release: a first offer
 * has either committed before, and `transition` sees it, or waits and finds the revision moved. If the
 * transition refuses, nothing is stored; one that leaves the state as it is raises no revision and is not
 * audited. `offered` of the transition's result is ignored.
 */
export const CONTROL: Change<ServingCall, ServingState, LockedOne> = {
  lock: (sql, call) => lockOne(sql, call, call.input),
  work: (sql, { channel }, { input: { canonicalVersion, transition }, reason }) =>
    controlOn(sql, channel, canonicalVersion, transition, reason),
  answer: (release) => ({ release }),
  preview: {
    canonicalVersion: ({ canonicalVersion }) => canonicalVersion,
    async tell(sql, { channel }, { input }, { status }) {
      if (status !== 'published') return {};
      return { first: await healthConcerns(sql, channel.id, input.canonicalVersion) };
    },
  },
};

/** Returns the warning that a release is unhealthy, if it is. */
async function healthConcerns(
  sql: Sql,
  channelId: string,
  canonicalVersion: string,
): Promise<readonly Concern[]> {
  const release = await findPlannedRelease(sql, channelId, canonicalVersion, false);
  if (isFailure(release)) return [];
  const limits = await exceededLimits(sql, release, await findPlan(sql, release.id));
  return limits === undefined ? [] : [{ path: 'status', message: `It is unhealthy: ${limits}` }];
}

/** Changes how a release of a locked channel is served. */
export async function controlOn(
  sql: ActorSql,
  channel: LockedChannel,
  canonicalVersion: string,
  transition: ServingCall['transition'],
  reason?: string,
): Promise<Outcome<Changed<ServingState>>> {
  const release = await lockRelease(sql, channel.id, canonicalVersion);
  if (isFailure(release)) return release;
  const { offered, ...before } = servingOf(release);
  const outcome = transition({ ...before, offered });
  if (isFailure(outcome)) return outcome;
  const { offered: _, ...asked } = servingOf(outcome);
  await recordReleaseExposure(sql, channel, release, { before, after: asked });
  const { wasPublished } = release;
  const isPublished = wasPublished || asked.status === 'published';
  const rolloutPct = await followPlan(
    ...([sql, channel, release, { ...before, wasPublished }] as const),
    { ...asked, wasPublished: isPublished },
  );
  const after = { ...asked, rolloutPct };
  if (outcome.isStatusSet) await endWaiting(sql, release.id, after.status);
  if (outcome.isStatusSet || after.status !== before.status) await endStopOf(sql, release.id);
  const value = stateOf(channel, release.version, after);
  if (isSame(before, after)) return { value, changed: [] };
  await storeServing(sql, release.id, after);
  const changed = await recordChannelChange(sql, channel, {
    action: 'release.serve',
    version: release.version,
    before,
    after,
    reason,
    isFirst: isPublished && !wasPublished,
  });
  return { value, changed };
}

async function lockRelease(
  sql: Sql,
  channelId: string,
  canonicalVersion: string,
): Promise<LockedRelease | Failure> {
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
 * Stops a held release from publishing itself once a person has set its status, even to the same value;
 * publishing it ends the hold. A code host's retraction no longer counts: the person has decided since.
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

/** Compares targeting as JSON text: the order of keys counts, because the API returns targeting as given. */
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
    jsonOrNull(targets),
  ]);
}

/**
 * Records durably that a release is about to be offered, if it is published and the channel is still at
 * `order`, the state of the decision. Returns false when it is not: the caller must decide again from a newer
 * catalog. Idempotent; does not change the revision. Rejects with `LockedTooLong` when the channel stays
 * locked for about a second. One database function does this in its own transaction (function/serving.sql),
 * so that one round trip is enough and a stalled node holds no lock.
 */
export async function recordFirstOffer(
  database: Database,
  channelId: string,
  releaseId: string,
  { epoch, revision }: ServingOrder,
): Promise<boolean> {
  if (!isStorable(channelId, releaseId)) return false;
  const rows = await database.query<{ isRecorded: boolean }>(
    'SELECT record_first_offer($1, $2, $3, $4) AS "isRecorded"',
    [channelId, releaseId, epoch, revision],
  );
  return rows[0]?.isRecorded === true;
}

/**
 * Marks releases of the channel, or of the one that it follows, as offered, if the ledger went back and lost
 * their marks; returns how many it marked. Locks the channel first, as every change of what it serves does,
 * also a change of the followed channel. Does not change the revision, like any first offer.
 */
export async function restoreOffers(
  database: Database,
  channelId: string,
  releaseIds: readonly string[],
): Promise<number> {
  const ids = releaseIds.filter((id) => isStorable(id));
  if (ids.length === 0 || !isStorable(channelId)) return 0;
  return database.transaction(async (sql) => {
    await sql.query('SELECT FROM channels WHERE id = $1 FOR UPDATE', [channelId]);
    const marked = await sql.query(
      `UPDATE releases SET offered_at = clock_timestamp()
       WHERE channel_id IN ($1, (SELECT follows FROM channels WHERE id = $1))
         AND id = ANY ($2::text[]) AND offered_at IS NULL RETURNING id`,
      [channelId, ids],
    );
    return marked.length;
  });
}

/**
 * Raises the epoch above `above`, unless it is higher already. Of several nodes one raises it; the others
 * wait for the row's lock and find it raised. The epoch then belongs to this database's identity, so that a
 * node whose connection leads here later need not raise it again.
 */
export async function raiseEpoch(sql: Sql, above: number): Promise<RaisedEpoch> {
  const identity = await readIdentity(sql);
  const raised = await sql.query<{ epoch: number }>(
    `UPDATE ledger_epoch SET epoch = $1 + 1, identity = $2, raised_at = clock_timestamp()
     WHERE epoch <= $1 RETURNING epoch`,
    [above, identity],
  );
  if (raised[0] !== undefined) return { epoch: raised[0].epoch, isRaised: true };
  const present = await sql.query<{ epoch: number }>('SELECT epoch FROM ledger_epoch');
  if (present[0] === undefined) throw new Error('The epoch of the ledger has no row');
  return { epoch: present[0].epoch, isRaised: false };
}
