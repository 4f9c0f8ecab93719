// Transaction that pauses a release that its code host has called back.

import {
  isFailure,
  type LostRight,
  type Outcome,
  type UnknownRelease,
} from '../../contract/failure.ts';
import type { Actor } from '../../ports/actor.ts';
import type { Changed } from '../../ports/changed.ts';
import type { KnownStates } from '../../ports/known-state.ts';
import type { ReleaseName } from '../../ports/release-name.ts';
import type { CallBack, CalledBack } from '../../ports/webhook-ledger.ts';
import { atomically } from '../atomically.ts';
import type { Database } from '../database.ts';
import { announcedRelease } from './announced-release.ts';
import { followPlan } from './follow-plan.ts';
import { lockChannel } from './lock-channel.ts';
import { recordChannelChange } from './record-channel-change.ts';

/**
 * Stores the status, the new revision and the audit entry in one transaction under the channel's lock. A
 * release that is held is kept from publishing itself, also where its status stays what it was.
 */
export function callBackRelease(
  database: Database,
  organizationId: string,
  name: ReleaseName,
  { at, reason }: CallBack,
  actor: Actor,
  known?: KnownStates,
): Promise<Outcome<Changed<CalledBack>, UnknownRelease | LostRight>> {
  return atomically<Changed<CalledBack>, UnknownRelease>(database, actor, async (sql) => {
    const channel = await lockChannel(sql, organizationId, name.app, name.channel, known);
    if (isFailure(channel)) return channel;
    const release = await announcedRelease(sql, channel.id, name.canonicalVersion, at);
    if (isFailure(release)) return release;
    const { id, version, status, rolloutPct, isAnnounced, isNewer } = release;
    if (!isAnnounced) return { value: 'not-announced', changed: [] };
    if (isNewer) return { value: 'older', changed: [] };
    const isServed = status === 'published';
    await sql.query(
      `UPDATE releases SET announced_at = coalesce($2, announced_at),
         hold = CASE WHEN hold IS NULL THEN NULL ELSE 'by-hand' END,
         status = CASE WHEN $3 THEN 'paused' ELSE status END
       WHERE id = $1`,
      [id, at ?? null, isServed],
    );
    if (!isServed) return { value: 'unserved', changed: [] };
    const published = { status, rolloutPct, wasPublished: true };
    await followPlan(sql, channel, release, published, { ...published, status: 'paused' });
    const changed = await recordChannelChange(sql, channel, {
      action: 'release.serve',
      version,
      before: { status },
      after: { status: 'paused' },
      reason,
    });
    return { value: 'paused', changed };
  });
}
