// Statements that read the release that a plan is of.

import { type Failure, fail, isFailure, type UnknownRelease } from '../../contract/failure.ts';
import { isStorable } from '../../contract/text.ts';
import type { PlannedRelease } from '../../domain/rollout/plan-state.ts';
import type { Reach } from '../reach.ts';
import type { ReleaseName } from '../release-name.ts';
import type { Sql } from './database.ts';
import { findChannel } from './find-channel.ts';
import { type FoundApp, findApp } from './lookups.ts';

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

/** Reads a release by its name, within what the caller may reach, with its app and its channel's name. */
export async function findReleaseByName(
  sql: Sql,
  reach: Reach,
  name: ReleaseName,
): Promise<
  | {
      readonly app: FoundApp;
      readonly channel: string;
      readonly release: FoundPlannedRelease;
    }
  | Failure<UnknownRelease>
> {
  const app = await findApp(sql, reach, name.app);
  if (isFailure(app)) return app;
  const channel = await findChannel(sql, app.id, name.channel);
  if (isFailure(channel)) return channel;
  const release = await findPlannedRelease(sql, channel.id, name.canonicalVersion, false);
  return isFailure(release) ? release : { app, channel: channel.name, release };
}
