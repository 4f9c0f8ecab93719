// Statement that reads the release that a plan is of.

import { type Failure, fail } from '../../contract/failure.ts';
import { isStorable } from '../../contract/text.ts';
import type { PlannedRelease } from '../../domain/rollout/plan-state.ts';
import type { Sql } from '../database.ts';

export type FoundPlannedRelease = PlannedRelease & {
  readonly id: string;
  readonly version: string;
};

/** Reads a release of a channel; `isLocked` keeps it as it is until the transaction ends. */
export async function findPlannedRelease(
  sql: Sql,
  channelId: string,
  canonicalVersion: string,
  isLocked: boolean,
): Promise<FoundPlannedRelease | Failure<'unknownRelease'>> {
  if (!isStorable(canonicalVersion)) return fail('unknownRelease');
  const rows = await sql.query<FoundPlannedRelease>(
    `SELECT id, version, status, rollout_pct AS "rolloutPct", published_at IS NOT NULL AS "wasPublished"
     FROM releases WHERE channel_id = $1 AND canonical_version = $2 ${isLocked ? 'FOR UPDATE' : ''}`,
    [channelId, canonicalVersion],
  );
  return rows[0] ?? fail('unknownRelease');
}
