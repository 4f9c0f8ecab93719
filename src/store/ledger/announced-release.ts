// Statements about the release that an event of a code host concerns, under the lock of its channel.

import type { StandingRelease } from '../../domain/release/announcement.ts';
import type { KnownHostRelease } from '../../domain/release/host-release.ts';
import type { NewArtifact } from '../new-artifact.ts';
import { ALL_ARTIFACTS_JSON, columns, jsonObject, msOf } from './columns.ts';
import type { Sql } from './database.ts';
import { timeOf } from './host-memory.ts';

/** Release of a channel, as an event finds it. */
export type AnnouncedRelease = StandingRelease<NewArtifact> & {
  readonly id: string;
  readonly version: string;
  readonly rolloutPct: number;
};

const RELEASE = `SELECT ${columns<AnnouncedRelease>({
  id: 'id',
  version: 'version',
  isAnnounced: "source = 'webhook'",
  offered: 'offered_at IS NOT NULL',
  status: 'status',
  rolloutPct: 'rollout_pct',
  hold: 'hold',
  isCalledBack: 'called_back',
  host: jsonObject<KnownHostRelease>({
    provider: 'announced_by',
    id: 'host_id',
    tag: 'host_tag',
    changedAt: msOf('announced_at'),
    publishedAt: msOf('host_published_at'),
    filesTo: msOf('host_files_at'),
  }),
  artifacts: ALL_ARTIFACTS_JSON,
})} FROM releases WHERE channel_id = $1 AND canonical_version = $2 FOR UPDATE`;

/** Returns the release that stands under a version; undefined for none. */
export async function announcedRelease(
  sql: Sql,
  channelId: string,
  canonicalVersion: string,
): Promise<AnnouncedRelease | undefined> {
  const rows = await sql.query<AnnouncedRelease>(RELEASE, [channelId, canonicalVersion]);
  return rows[0];
}

/** Stores what is known of the code host's release. */
export async function storeHost(sql: Sql, id: string, host: KnownHostRelease): Promise<void> {
  await sql.query(
    `UPDATE releases SET announced_by = $2, host_id = $3, host_tag = $4, announced_at = $5,
       host_published_at = $6, host_files_at = $7
     WHERE id = $1`,
    [
      ...[id, host.provider, host.id, host.tag],
      ...[host.changedAt, host.publishedAt, host.filesTo].map(timeOf),
    ],
  );
}
