// The artifacts of a release whose webhook event came before its assets were uploaded.

import { type Failure, fail, isFailure, type Outcome } from '../../contract/failure.ts';
import type { Release } from '../../contract/resource.ts';
import type { SnapshotArtifact } from '../../domain/serving-snapshot.ts';
import type { Actor, Changed, ReleaseName } from '../../ports/ledger.ts';
import { atomically } from '../atomically.ts';
import type { Database, Sql } from '../database.ts';
import { insertArtifacts } from './insert-artifacts.ts';
import { insertAudit } from './insert-audit.ts';
import { isStorable } from './is-storable.ts';
import { bumpRevision, lockChannel } from './lock-channel.ts';
import { readRelease } from './read-release.ts';

type FoundRelease = {
  readonly id: string;
  readonly version: string;
  readonly isCompletable: boolean;
};

/**
 * One transaction under the channel's lock, which a first offer waits for as well: the artifacts, the
 * revision and the audit, or nothing and the release as it is. The lock is had before the release is looked
 * at, so of several completions at once the first one's artifacts stay.
 */
export function completeRelease(
  database: Database,
  organizationId: string,
  name: ReleaseName,
  artifacts: readonly SnapshotArtifact[],
  actor: Actor,
): Promise<Outcome<Changed<Release>>> {
  return atomically(database, async (sql) => {
    const channel = await lockChannel(sql, organizationId, name.app, name.channel);
    if (isFailure(channel)) return channel;
    const found = await findRelease(sql, channel.id, name.canonicalVersion);
    if (isFailure(found)) return found;
    if (!found.isCompletable || artifacts.length === 0) {
      return { value: await readRelease(sql, found.id), changed: [] };
    }
    await insertArtifacts(sql, found.id, artifacts);
    const revision = await bumpRevision(sql, channel);
    await insertAudit(sql, {
      organizationId: channel.app.organizationId,
      actor,
      action: 'release.complete',
      subject: `${channel.app.ref}/${channel.name}@${found.version}`,
      before: { artifacts: 0 },
      after: { artifacts: artifacts.length },
    });
    return { value: await readRelease(sql, found.id), changed: [revision] };
  });
}

async function findRelease(
  sql: Sql,
  channelId: string,
  canonicalVersion: string,
): Promise<FoundRelease | Failure> {
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
