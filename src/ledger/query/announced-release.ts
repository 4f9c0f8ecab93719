// Statement that reads a release for an event of its code host, under the lock of its channel.

import { type Failure, fail } from '../../contract/failure.ts';
import type { ReleaseStatus } from '../../contract/resource.ts';
import { isStorable } from '../../contract/text.ts';
import type { ReleaseHold } from '../../ports/ledger.ts';
import type { NewArtifact } from '../../ports/new-artifact.ts';
import type { Sql } from '../database.ts';
import { ALL_ARTIFACTS_JSON, columns } from './column.ts';

export type AnnouncedRelease = {
  readonly id: string;
  readonly version: string;
  /** Whether it came from a code host. */
  readonly isAnnounced: boolean;
  readonly offered: boolean;
  readonly status: ReleaseStatus;
  readonly rolloutPct: number;
  readonly hold: ReleaseHold | null;
  /** Whether it took an event that is newer than the present one. */
  readonly isNewer: boolean;
  readonly artifacts: readonly NewArtifact[];
};

const RELEASE = `SELECT ${columns<AnnouncedRelease>({
  id: 'id',
  version: 'version',
  isAnnounced: "source = 'webhook'",
  offered: 'offered_at IS NOT NULL',
  status: 'status',
  rolloutPct: 'rollout_pct',
  hold: 'hold',
  isNewer: 'coalesce(announced_at > $3::timestamptz, false)',
  artifacts: ALL_ARTIFACTS_JSON,
})} FROM releases WHERE channel_id = $1 AND canonical_version = $2 FOR UPDATE`;

/** Reads the release, and compares the time of the event (RFC 3339) with that of the last one. */
export async function announcedRelease(
  sql: Sql,
  channelId: string,
  canonicalVersion: string,
  at: string | undefined,
): Promise<AnnouncedRelease | Failure<'unknownRelease'>> {
  if (!isStorable(canonicalVersion)) return fail('unknownRelease');
  const values = [channelId, canonicalVersion, at ?? null];
  const rows = await sql.query<AnnouncedRelease>(RELEASE, values);
  return rows[0] ?? fail('unknownRelease');
}
