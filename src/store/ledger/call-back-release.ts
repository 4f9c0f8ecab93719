// Transaction that pauses a release that its code host has called back.

import { isFailure, type LostRight, type Outcome } from '../../contract/failure.ts';
import { type CalledBack, rememberCallBack, takeCallBack } from '../../domain/release/call-back.ts';
import { joinEvents } from '../../domain/release/host-release.ts';
import type { Changed } from '../changed.ts';
import type { KnownStates } from '../known-state.ts';
import type { Actor } from '../ledger-terms.ts';
import type { ReleaseName } from '../release-name.ts';
import type { NewCallBack } from '../webhook-ledger.ts';
import { type AnnouncedRelease, announcedRelease, storeHost } from './announced-release.ts';
import { atomically } from './atomically.ts';
import type { Database, Sql } from './database.ts';
import { followPlan } from './follow-plan.ts';
import { type HostPlace, readHostMemory, storeHostMemory } from './host-memory.ts';
import { lockChannel } from './lock-channel.ts';
import { readTime } from './read-time.ts';
import { recordChannelChange } from './record-channel-change.ts';

type Answer = Changed<CalledBack | undefined>;

/**
 * Remembers the event and stores the status, the new revision and the audit entry in one transaction under
 * the channel's lock. A release that is held is kept from publishing itself, also where its status stays what
 * it was.
 */
export function callBackRelease(
  database: Database,
  organizationId: string,
  name: ReleaseName,
  call: NewCallBack,
  actor: Actor,
  known?: KnownStates,
): Promise<Outcome<Answer, 'unknownApp' | 'unknownChannel' | LostRight>> {
  return atomically<Answer, 'unknownApp' | 'unknownChannel'>(database, actor, async (sql) => {
    const channel = await lockChannel(sql, organizationId, name.app, name.channel, known);
    if (isFailure(channel)) return channel;
    const { canonicalVersion } = name;
    await remember(sql, { channelId: channel.id, canonicalVersion, host: call.host }, call);
    const release = await announcedRelease(sql, channel.id, canonicalVersion);
    const value = release && takeCallBack(release, call);
    if (release === undefined || (value !== 'paused' && value !== 'unserved')) {
      return { value, changed: [] };
    }
    await keepBack(sql, release, call, value === 'paused');
    if (value === 'unserved') return { value, changed: [] };
    const { version, status, rolloutPct } = release;
    const published = { status, rolloutPct, wasPublished: true };
    await followPlan(sql, channel, release, published, { ...published, status: 'paused' });
    const changed = await recordChannelChange(sql, channel, {
      action: 'release.serve',
      version,
      before: { status },
      after: { status: 'paused' },
      reason: call.reason,
    });
    return { value, changed };
  });
}

async function remember(sql: Sql, place: HostPlace, call: NewCallBack): Promise<void> {
  const before = await readHostMemory(sql, place);
  const memory = rememberCallBack(call, before, await readTime(sql));
  if (memory !== undefined) await storeHostMemory(sql, place, memory);
}

/** Stores that the code host keeps a release back, unless somebody else does already. */
async function keepBack(
  sql: Sql,
  { id, hold, host, isCalledBack }: AnnouncedRelease,
  call: NewCallBack,
  isPaused: boolean,
): Promise<void> {
  await storeHost(sql, id, joinEvents(host, call.host));
  await sql.query(
    `UPDATE releases SET called_back = $2, status = CASE WHEN $3 THEN 'paused' ELSE status END
     WHERE id = $1`,
    [id, isCalledBack || isPaused || hold !== null, isPaused],
  );
}
