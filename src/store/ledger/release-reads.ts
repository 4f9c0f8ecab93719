// Statements that read a release for its page in the console: its devices, its history and its fallback.

import type { ReleaseDetail } from '../../contract/console.ts';
import { fail, isFailure, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { AuditEntry } from '../../contract/resource.ts';
import { isStorable } from '../../contract/text.ts';
import { compareVersions, parseVersion, type Version } from '../../domain/decision/version.ts';
import { ARTIFACTS_JSON, AUDIT_COLUMNS, columns, isoText, RELEASE_HEAD } from './columns.ts';
import type { Sql } from './database.ts';
import { findChannel } from './find-channel.ts';
import { extrapolate, fleetSample } from './fleet-sample.ts';
import { readSupersedingVersion } from './superseding-version.ts';

/**
 * Maximum number of distinct versions that are counted on a channel, the most frequent first. It is bounded
 * because clients may report any version.
 */
const VERSIONS_MAX = 20_000;

/** Columns of a release on its own page, in the order of the answer's fields. */
const RELEASE_COLUMNS = columns<ReleaseDetail['release']>({
  id: RELEASE_HEAD.id,
  version: RELEASE_HEAD.version,
  notes: 'notes',
  source: 'source',
  status: RELEASE_HEAD.status,
  rolloutPct: RELEASE_HEAD.rolloutPct,
  targets: RELEASE_HEAD.targets,
  offered: RELEASE_HEAD.offered,
  createdAt: RELEASE_HEAD.createdAt,
  artifacts: ARTIFACTS_JSON,
});

type App = { readonly id: string; readonly ref: string };

/**
 * Reads with several statements: each is consistent by itself, but not with the others. No change is decided
 * from the answer.
 */
export async function readReleaseDetail(
  sql: Sql,
  app: App,
  channelName: string,
  canonicalVersion: string,
): Promise<Outcome<ReleaseDetail, 'unknownChannel' | 'unknownRelease'>> {
  const channel = await findChannel(sql, app.id, channelName);
  if (isFailure(channel)) return channel;
  const release = await readRow(sql, channel.id, canonicalVersion);
  const version = parseVersion(canonicalVersion);
  if (release === undefined || version === undefined) return fail('unknownRelease');
  const running = await countRunning(sql, app.id, channel.id, version);
  const offered = await countOffered(sql, app.id, release.id);
  const history = await readHistory(sql, app.id, `${app.ref}/${channel.name}@${release.version}`);
  const supersededBy = await readSupersedingVersion(sql, channel.id, version, release.artifacts);
  return { release, supersededBy, devices: { ...running, ...offered }, history };
}

async function readRow(
  sql: Sql,
  channelId: string,
  canonicalVersion: string,
): Promise<ReleaseDetail['release'] | undefined> {
  if (!isStorable(canonicalVersion)) return undefined;
  const rows = await sql.query<ReleaseDetail['release']>(
    `SELECT ${RELEASE_COLUMNS} FROM releases
     WHERE channel_id = $1 AND canonical_version = $2`,
    [channelId, canonicalVersion],
  );
  return rows[0];
}

/**
 * Counts the devices that run the version, run a lower one, and all of them: of the channel, and of those
 * that follow it and have no release of this version themselves.
 */
async function countRunning(sql: Sql, appId: string, channelId: string, version: Version) {
  const rows = await sql.query<{ version: string; devices: number }>(
    `SELECT version, sum(devices)::float8 AS devices FROM fleet_counts
     WHERE app_id = $1 AND devices > 0 AND channel IN (
       SELECT name FROM channels AS place WHERE id = $2 OR follows = $2 AND NOT EXISTS (
         SELECT FROM releases AS own
         WHERE own.channel_id = place.id AND own.canonical_version = $3
       )
     )
     GROUP BY version ORDER BY sum(devices) DESC LIMIT ${VERSIONS_MAX}`,
    [appId, channelId, version.canonical],
  );
  const counts = { on: 0, below: 0, fleet: 0 };
  for (const row of rows) {
    counts.fleet += row.devices;
    const running = parseVersion(row.version);
    const order = running === undefined ? 1 : compareVersions(running, version);
    if (order === 0) counts.on += row.devices;
    if (order < 0) counts.below += row.devices;
  }
  return counts;
}

async function countOffered(sql: Sql, appId: string, releaseId: string) {
  const sample = await fleetSample(sql, appId);
  const [row] = await sql.query<{ looked: number; offered: number; at: string | null }>(
    `SELECT count(*)::int AS looked,
       ${isoText('max(last_offered_at) FILTER (WHERE last_offered_release_id = $2)')} AS at,
       count(*) FILTER (WHERE last_offered_release_id = $2)::int AS offered
     FROM ${sample.from}`,
    [appId, releaseId],
  );
  const { looked = 0, offered = 0 } = row ?? {};
  return {
    offered: sample.isWhole ? offered : extrapolate(offered, looked, sample.total),
    offeredIsEstimate: !sample.isWhole,
    lastOfferedAt: row?.at ?? null,
  };
}

function readHistory(sql: Sql, appId: string, subject: string): Promise<readonly AuditEntry[]> {
  return sql.query<AuditEntry>(
    `SELECT ${AUDIT_COLUMNS} FROM audit_entries AS entry
     WHERE organization_id = (SELECT organization_id FROM apps WHERE id = $1) AND subject = $2
     ORDER BY entry.at DESC, entry.id DESC LIMIT ${LIMIT.releaseHistoryMax}`,
    [appId, subject],
  );
}
