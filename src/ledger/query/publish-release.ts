// Transaction that publishes a release on a channel.

import { fail, isFailure, type LostRight, type Outcome } from '../../contract/failure.ts';
import type { Release } from '../../contract/resource.ts';
import type { Actor } from '../../ports/actor.ts';
import type { Changed } from '../../ports/changed.ts';
import type { KnownState } from '../../ports/known-state.ts';
import type { NewRelease } from '../../ports/ledger.ts';
import { atomically } from '../atomically.ts';
import type { Database, Sql } from '../database.ts';
import { newId } from '../new-id.ts';
import { insertArtifacts } from './insert-artifacts.ts';
import { lockChannel } from './lock-channel.ts';
import { readRelease } from './read-release.ts';
import { recordChannelChange } from './record-channel-change.ts';
import { refuseFullChannel } from './refuse-full-channel.ts';

/**
 * Stores the release with its artifacts, the new revision and the audit entry in one transaction under the
 * channel's lock. Releases are published to a channel one after another; of several with the same canonical
 * version, exactly one is stored.
 */
export function publishRelease(
  database: Database,
  organizationId: string,
  release: NewRelease,
  actor: Actor,
  known?: KnownState,
): Promise<
  Outcome<
    Changed<Release>,
    'unknownApp' | 'unknownChannel' | 'versionExists' | 'channelFull' | LostRight
  >
> {
  return atomically(database, actor, async (sql) => {
    const channel = await lockChannel(sql, organizationId, release.app, release.channel, known);
    if (isFailure(channel)) return channel;
    const { version, status, targets, artifacts } = release;
    const rolloutPct = release.rolloutPct ?? channel.defaultRollout;
    const id = await insertRelease(sql, channel.id, { ...release, rolloutPct }, actor);
    if (id === undefined) return fail('versionExists');
    await insertArtifacts(sql, id, artifacts);
    const refusal = await refuseFullChannel(sql, channel.id);
    if (refusal !== undefined) return refusal;
    const revision = await recordChannelChange(sql, channel, {
      action: 'release.publish',
      version,
      before: null,
      after: { version, status, rolloutPct, targets, artifacts: artifacts.length },
    });
    return { value: await readRelease(sql, id), changed: [revision] };
  });
}

type ResolvedRelease = NewRelease & { readonly rolloutPct: number };

/** Returns the new release's id, undefined when the channel has the version already. */
async function insertRelease(
  sql: Sql,
  channelId: string,
  release: ResolvedRelease,
  actor: Actor,
): Promise<string | undefined> {
  const { version, canonicalVersion, notes, status, rolloutPct, targets } = release;
  const rows = await sql.query<{ id: string }>(
    `INSERT INTO releases
       (id, channel_id, version, canonical_version, notes, status, rollout_pct, targets, source)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
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
    ],
  );
  return rows[0]?.id;
}
