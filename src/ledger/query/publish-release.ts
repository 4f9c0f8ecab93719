// A new release on a channel.

import { fail, isFailure, type Outcome } from '../../contract/failure.ts';
import type { Release } from '../../contract/resource.ts';
import type { Actor, Changed, NewRelease } from '../../ports/ledger.ts';
import { atomically } from '../atomically.ts';
import type { Database, Sql } from '../database.ts';
import { newId } from '../new-id.ts';
import { insertArtifacts } from './insert-artifacts.ts';
import { insertAudit } from './insert-audit.ts';
import { bumpRevision, type LockedChannel, lockChannel } from './lock-channel.ts';
import { readRelease } from './read-release.ts';

/**
 * One transaction under the channel's lock: the release with its artifacts, the revision and the audit,
 * or none of them. Publishes to one channel happen one after the other; of several with the same
 * canonical version exactly one lands.
 */
export function publishRelease(
  database: Database,
  organizationId: string,
  release: NewRelease,
  actor: Actor,
): Promise<Outcome<Changed<Release>>> {
  return atomically(database, async (sql) => {
    const channel = await lockChannel(sql, organizationId, release.app, release.channel);
    if (isFailure(channel)) return channel;
    const rolloutPct = release.rolloutPct ?? channel.defaultRollout;
    const id = await insertRelease(sql, channel.id, { ...release, rolloutPct }, actor);
    if (id === undefined) return fail('versionExists');
    await insertArtifacts(sql, id, release.artifacts);
    const revision = await bumpRevision(sql, channel);
    await auditPublish(sql, channel, { ...release, rolloutPct }, actor);
    return { value: await readRelease(sql, id), changed: [revision] };
  });
}

type ResolvedRelease = NewRelease & { readonly rolloutPct: number };

/** Undefined when the channel has the version. */
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

function auditPublish(
  sql: Sql,
  channel: LockedChannel,
  release: ResolvedRelease,
  actor: Actor,
): Promise<void> {
  const { version, status, rolloutPct, targets, artifacts } = release;
  return insertAudit(sql, {
    organizationId: channel.app.organizationId,
    actor,
    action: 'release.publish',
    subject: `${channel.app.ref}/${channel.name}@${version}`,
    before: null,
    after: { version, status, rolloutPct, targets, artifacts: artifacts.length },
  });
}
