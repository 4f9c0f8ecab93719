// Transaction that adds the artifacts of a release whose webhook event came before its assets were uploaded.

import {
  type Failure,
  fail,
  isFailure,
  type LostRight,
  type Outcome,
  type UnknownRelease,
} from '../../contract/failure.ts';
import type { Release } from '../../contract/resource.ts';
import { isStorable } from '../../contract/text.ts';
import type { Actor } from '../../ports/actor.ts';
import type { Changed } from '../../ports/changed.ts';
import type { KnownStates } from '../../ports/known-state.ts';
import type { NewArtifact } from '../../ports/new-artifact.ts';
import type { ReleaseName } from '../../ports/release-name.ts';
import { atomically } from '../atomically.ts';
import type { Database, Sql } from '../database.ts';
import { insertArtifacts } from './insert-artifacts.ts';
import { lockChannel } from './lock-channel.ts';
import { readRelease } from './read-release.ts';
import { recordChannelChange } from './record-channel-change.ts';
import { refuseFullChannel } from './refuse-full-channel.ts';

type FoundRelease = {
  readonly id: string;
  readonly version: string;
  readonly isCompletable: boolean;
};

/**
 * Stores the artifacts, the new revision and the audit entry in one transaction under the channel's lock,
 * which a first offer waits for as well. Changes nothing when the release may get no artifacts (any more).
 * The release is read after the lock is granted: of several completions at once, the artifacts of the first
 * one stay.
 */
export function completeRelease(
  database: Database,
  organizationId: string,
  name: ReleaseName,
  artifacts: readonly NewArtifact[],
  actor: Actor,
  known?: KnownStates,
): Promise<Outcome<Changed<Release>, UnknownRelease | 'channelFull' | LostRight>> {
  return atomically(database, actor, async (sql) => {
    const channel = await lockChannel(sql, organizationId, name.app, name.channel, known);
    if (isFailure(channel)) return channel;
    const found = await findRelease(sql, channel.id, name.canonicalVersion);
    if (isFailure(found)) return found;
    if (!found.isCompletable || artifacts.length === 0) {
      return { value: await readRelease(sql, found.id), changed: [] };
    }
    await insertArtifacts(sql, found.id, artifacts);
    const refusal = await refuseFullChannel(sql, channel.id);
    if (refusal !== undefined) return refusal;
    const changed = await recordChannelChange(sql, channel, {
      action: 'release.complete',
      version: found.version,
      before: { artifacts: 0 },
      after: { artifacts: artifacts.length },
    });
    return { value: await readRelease(sql, found.id), changed };
  });
}

async function findRelease(
  sql: Sql,
  channelId: string,
  canonicalVersion: string,
): Promise<FoundRelease | Failure<'unknownRelease'>> {
  if (!isStorable(canonicalVersion)) return fail('unknownRelease');
  const rows = await sql.query<FoundRelease>(
    `SELECT id, version,
       source = 'webhook' AND offered_at IS NULL AND status <> 'rolled_back' AND NOT EXISTS (
         SELECT FROM artifacts WHERE artifacts.release_id = releases.id
       ) AS "isCompletable"
     FROM releases WHERE channel_id = $1 AND canonical_version = $2`,
    [channelId, canonicalVersion],
  );
  return rows[0] ?? fail('unknownRelease');
}
