// Transaction that publishes a release of one channel on another.

import {
  type Failure,
  fail,
  isFailure,
  type LostRight,
  type Outcome,
  type UnknownRelease,
} from '../../contract/failure.ts';
import type { ReleaseStatus } from '../../contract/resource.ts';
import { isStorable } from '../../contract/text.ts';
import type { Actor } from '../../ports/actor.ts';
import type { KnownStates } from '../../ports/known-state.ts';
import type { NewPromotion, Published, PublishObstacle } from '../../ports/ledger.ts';
import type { NewArtifact } from '../../ports/new-artifact.ts';
import type { Reach } from '../../ports/reach.ts';
import type { RepeatableCall } from '../../ports/repeatable-call.ts';
import { atomically } from '../atomically.ts';
import type { Database, Sql } from '../database.ts';
import { ALL_ARTIFACTS_JSON } from './column.ts';
import { findChannel } from './find-channel.ts';
import { lockChannel } from './lock-channel.ts';
import { publishOn } from './publish-release.ts';

type Source = {
  readonly version: string;
  readonly notes: string;
  readonly status: ReleaseStatus;
  readonly artifacts: readonly NewArtifact[];
};

/**
 * Publishes under the lock of the channel that gets the release. The source is read in one statement, and not
 * locked: a change of it at the same time counts as made afterwards.
 */
export function promoteRelease(
  database: Database,
  reach: Reach,
  promotion: NewPromotion,
  actor: Actor,
  call?: RepeatableCall,
  known?: KnownStates,
): Promise<Outcome<Published, UnknownRelease | PublishObstacle | 'notPromotable' | LostRight>> {
  return atomically<Published, UnknownRelease | PublishObstacle | 'notPromotable'>(
    database,
    actor,
    async (sql) => {
      const { app, from, to, canonicalVersion, reason, ...serving } = promotion;
      const channel = await lockChannel(sql, reach, app, to, known);
      if (isFailure(channel)) return channel;
      const source = await readSource(sql, channel.app.id, from, canonicalVersion);
      if (isFailure(source)) return source;
      const { status, ...content } = source;
      const isServable = status === 'published' || status === 'paused';
      const release = { ...serving, ...content, app, channel: to, canonicalVersion };
      return publishOn(sql, channel, release, {
        call,
        refusal: isServable ? undefined : fail('notPromotable', REFUSALS[status]),
        audit: { action: 'release.promote', from, reason },
      });
    },
  );
}

const REFUSALS: Readonly<Record<Exclude<ReleaseStatus, 'published' | 'paused'>, string>> = {
  rolled_back: 'A rolled-back release cannot be promoted',
  deprecated: 'A deprecated release cannot be promoted',
};

async function readSource(
  sql: Sql,
  appId: string,
  channelName: string,
  canonicalVersion: string,
): Promise<Source | Failure<'unknownChannel' | 'unknownRelease'>> {
  const channel = await findChannel(sql, appId, channelName);
  if (isFailure(channel)) return channel;
  if (!isStorable(canonicalVersion)) return fail('unknownRelease');
  const rows = await sql.query<Source>(
    `SELECT version, notes, status, ${ALL_ARTIFACTS_JSON} AS artifacts FROM releases
     WHERE channel_id = $1 AND canonical_version = $2`,
    [channel.id, canonicalVersion],
  );
  return rows[0] ?? fail('unknownRelease');
}
