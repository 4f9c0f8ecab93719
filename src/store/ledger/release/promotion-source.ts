// Source of a promotion: a release of another channel, and the reasons against offering it to more devices.

import { createHash } from 'node:crypto';
import { type Failure, fail, isFailure } from '../../../contract/failure.ts';
import type { Targeting } from '../../../contract/resource.ts';
import { isStorable } from '../../../contract/text.ts';
import { isOpen } from '../../../domain/rollout/plan-state.ts';
import type { NewArtifact, NewPromotion } from '../../ledger-terms.ts';
import { findChannel } from '../change/channels.ts';
import { findPlan } from '../change/plan-rows.ts';
import { ALL_ARTIFACTS_JSON } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';
import { exceededLimits, type JudgedRelease } from '../rollout/release-health.ts';

type Stored = JudgedRelease & {
  readonly version: string;
  readonly notes: string;
  readonly artifacts: readonly NewArtifact[];
  readonly targets: Targeting | null;
};

/** What a promotion copies, its refusal, and its warnings. */
export type PromotionSource = {
  readonly content: Pick<Stored, 'version' | 'notes' | 'artifacts'>;
  readonly refusal: Failure | undefined;
  /** Sentences about the source: it is paused or unhealthy, or its plan is held. */
  readonly concerns: readonly string[];
  /** Returns the source's state as the promotion meets it, with a hash of what it copies. */
  readonly state: () => object;
};

/**
 * Reads the source of a promotion with present signals, without a lock: a concurrent change of it counts as
 * later. Refuses a source that is rolled back or deprecated; also one that is paused or unhealthy, unless the
 * promotion names a rollout, a plan or `paused`: the target's default rollout would offer its devices what a
 * person or a guard has stopped on the source's channel.
 */
export async function readPromotionSource(
  sql: Sql,
  appId: string,
  promotion: Omit<NewPromotion, 'app' | 'to'>,
): Promise<PromotionSource | Failure> {
  const { from, canonicalVersion } = promotion;
  const stored = await readStored(sql, appId, from, canonicalVersion);
  if (isFailure(stored)) return stored;
  const { id, status, rolloutPct, targets, ...content } = stored;
  const state = () => ({ id, status, rolloutPct, targets, content: hashOf(content) });
  if (status === 'rolled_back' || status === 'deprecated') {
    const refusal = fail('notPromotable', REFUSALS[status]);
    return { content, refusal, concerns: [], state };
  }
  const row = await findPlan(sql, id);
  const limits = await exceededLimits(sql, { id, status, rolloutPct }, row);
  const stops = [
    ...(status === 'paused' ? [`It is paused on ${from}`] : []),
    ...(limits === undefined ? [] : [`It is unhealthy on ${from}: ${limits}`]),
  ];
  const isHeld = row !== undefined && isOpen(row.state) && row.state.status === 'held';
  const concerns = isHeld ? [...stops, `Its plan on ${from} is held`] : stops;
  const isUndecided = isByDefault(promotion) && stops.length > 0;
  const refusal = isUndecided
    ? fail(
        'notPromotable',
        `${stops.join('. ')}. Say rollout, plan or status "paused" to promote it`,
      )
    : undefined;
  return { content, refusal, concerns, state };
}

function hashOf(content: PromotionSource['content']): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('hex');
}

const REFUSALS = {
  rolled_back: 'A rolled-back release cannot be promoted',
  deprecated: 'A deprecated release cannot be promoted',
} as const;

/** Returns whether the promotion leaves the rollout to the target channel's default. */
function isByDefault({
  rolloutPct,
  plan,
  status,
}: Pick<NewPromotion, 'rolloutPct' | 'plan' | 'status'>): boolean {
  return rolloutPct === undefined && plan === undefined && status !== 'paused';
}

async function readStored(
  sql: Sql,
  appId: string,
  channelName: string,
  canonicalVersion: string,
): Promise<Stored | Failure> {
  const channel = await findChannel(sql, appId, channelName);
  if (isFailure(channel)) return channel;
  if (!isStorable(canonicalVersion)) return fail('unknownRelease');
  const rows = await sql.query<Stored>(
    `SELECT id, version, notes, status, rollout_pct AS "rolloutPct", targets,
       ${ALL_ARTIFACTS_JSON} AS artifacts
     FROM releases
     WHERE channel_id = $1 AND canonical_version = $2`,
    [channel.id, canonicalVersion],
  );
  return rows[0] ?? fail('unknownRelease');
}
