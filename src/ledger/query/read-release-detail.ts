// One release with where its devices are and what became of it.

import { fail, isFailure, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { AuditEntry } from '../../contract/resource.ts';
import { compareVersions, parseVersion, type Version } from '../../domain/version.ts';
import type { ReleaseDetail } from '../../ports/console-ledger.ts';
import type { Sql } from '../database.ts';
import { ARTIFACTS_JSON } from './artifacts-json.ts';
import { AUDIT_COLUMNS } from './audit-columns.ts';
import { byVersion } from './by-version.ts';
import { findChannel } from './find-channel.ts';
import { extrapolate, fleetSample } from './fleet-sample.ts';
import { isStorable } from './is-storable.ts';
import { isoText } from './iso-text.ts';

/** Distinct versions that devices of a channel report, the most frequent first: strangers may report any. */
const VERSIONS_MAX = 20_000;

type App = { readonly id: string; readonly ref: string };

/** Several reads: each is right by itself, and nothing here is decided by. */
export async function readReleaseDetail(
  sql: Sql,
  app: App,
  channelName: string,
  canonicalVersion: string,
): Promise<Outcome<ReleaseDetail>> {
  const channel = await findChannel(sql, app.id, channelName);
  if (isFailure(channel)) return channel;
  const release = await readRow(sql, channel.id, canonicalVersion);
  const version = parseVersion(canonicalVersion);
  if (release === undefined || version === undefined) return fail('unknownRelease');
  const places = await countPlaces(sql, app.id, channel.name, version);
  const offered = await countOffered(sql, app.id, release.id);
  const history = await readHistory(sql, app.id, `${app.ref}/${channel.name}@${release.version}`);
  const to = await findFallback(sql, channel.id, version);
  return {
    release,
    devices: { ...places, ...offered },
    history,
    rollback: { devices: places.on, to },
  };
}

async function readRow(
  sql: Sql,
  channelId: string,
  canonicalVersion: string,
): Promise<ReleaseDetail['release'] | undefined> {
  if (!isStorable(canonicalVersion)) return undefined;
  const rows = await sql.query<ReleaseDetail['release']>(
    `SELECT id, version, notes, source, status, rollout_pct AS "rolloutPct", targets,
       offered_at IS NOT NULL AS offered, ${isoText('releases.created_at')} AS "createdAt",
       ${ARTIFACTS_JSON} AS artifacts
     FROM releases WHERE channel_id = $1 AND canonical_version = $2`,
    [channelId, canonicalVersion],
  );
  return rows[0];
}

async function countPlaces(sql: Sql, appId: string, channel: string, version: Version) {
  const rows = await sql.query<{ version: string; devices: number }>(
    `SELECT version, sum(devices)::float8 AS devices FROM fleet_counts
     WHERE app_id = $1 AND channel = $2 AND devices > 0
     GROUP BY version ORDER BY sum(devices) DESC LIMIT ${VERSIONS_MAX}`,
    [appId, channel],
  );
  const places = { on: 0, below: 0, fleet: 0 };
  for (const row of rows) {
    places.fleet += row.devices;
    const running = parseVersion(row.version);
    const order = running === undefined ? 1 : compareVersions(running, version);
    if (order === 0) places.on += row.devices;
    if (order < 0) places.below += row.devices;
  }
  return places;
}

async function countOffered(sql: Sql, appId: string, releaseId: string) {
  const sample = await fleetSample(sql, appId);
  const [row] = await sql.query<{ looked: number; offered: number }>(
    `SELECT count(*)::int AS looked,
       count(*) FILTER (WHERE last_offered_release_id = $2)::int AS offered
     FROM ${sample.from}`,
    [appId, releaseId],
  );
  const { looked = 0, offered = 0 } = row ?? {};
  return {
    offered: sample.isWhole ? offered : extrapolate(offered, looked, sample.total),
    offeredIsEstimate: !sample.isWhole,
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

/** The highest release below that every device gets which has an artifact for it. */
async function findFallback(sql: Sql, channelId: string, version: Version): Promise<string | null> {
  const rows = await sql.query<{ version: string }>(
    `SELECT version FROM releases
     WHERE channel_id = $1 AND status = 'published' AND rollout_pct = 100
       AND (targets IS NULL OR targets::jsonb IN (
         '{"matchLabels": {}, "matchExpressions": []}', '{"matchLabels": {}}',
         '{"matchExpressions": []}', '{}'
       ))
       AND EXISTS (SELECT FROM artifacts WHERE release_id = releases.id)`,
    [channelId],
  );
  const below = rows.filter((row) => {
    const candidate = parseVersion(row.version);
    return candidate !== undefined && compareVersions(candidate, version) < 0;
  });
  return byVersion(below, (row) => row.version)[0]?.version ?? null;
}
