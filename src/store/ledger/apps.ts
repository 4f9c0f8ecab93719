// Statement that reads the overview of an organization's apps for the console.

import type {
  AppOverview,
  ChannelOverview,
  NewestRelease,
  RollingRelease,
} from '../../contract/console.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { AppState, ReleaseStatus } from '../../contract/resource.ts';
import { byVersion } from '../../domain/decision/by-version.ts';
import { isoText } from './columns.ts';
import { conditionsText } from './conditions-text.ts';
import { type AppTotal, countSeenByApp } from './count-seen-by-app.ts';
import type { Sql } from './database.ts';

type Row = AppTotal & AppState & { readonly channels: string };
type ListedChannel = { readonly name: string; readonly releases: readonly ListedRelease[] };
type ListedRelease = [
  version: string,
  status: ReleaseStatus,
  rollout: number,
  createdAt: string,
  hasArtifacts: boolean,
  isTargeted: boolean,
];

/** Maximum number of partly rolled-out releases that a channel shows. */
const ROLLING_MAX = 10;

/**
 * Reads the channels and releases as text, because one string crosses to the embedded database's client far
 * quicker than thousands of objects.
 */
const APPS = `
  SELECT apps.id, apps.ref, apps.name, ${isoText('apps.archived_at')} AS "archivedAt", (
    SELECT coalesce(sum(devices), 0)::float8 FROM fleet_counts WHERE app_id = apps.id
  ) AS total, (
    SELECT coalesce(json_agg(json_build_object('name', channels.name, 'releases', (
      SELECT coalesce(json_agg(json_build_array(
        releases.version, releases.status, releases.rollout_pct, ${isoText('releases.created_at')},
        EXISTS (SELECT FROM artifacts WHERE release_id = releases.id),
        ${conditionsText('releases.targets')} IS NOT NULL
      )), '[]'::json)
      FROM releases WHERE releases.channel_id = channels.id
    )) ORDER BY channels.name), '[]'::json)::text
    FROM channels WHERE channels.app_id = apps.id
  ) AS channels
  FROM apps WHERE organization_id = $1 ORDER BY ref LIMIT ${LIMIT.appsShownMax}`;

/**
 * Returns apps by ref and channels by name. Releases are sorted here, because the database does not know the
 * order of versions.
 */
export async function listAppOverviews(
  sql: Sql,
  organizationId: string,
  seenSince: string,
): Promise<readonly AppOverview[]> {
  const rows = await sql.query<Row>(APPS, [organizationId]);
  const seen = await countSeenByApp(sql, rows, seenSince);
  const apps = rows.map(({ id, ref, name, archivedAt, total, channels }) => ({
    ...{ id, ref, name, archivedAt },
    devices: total,
    devicesDay: seen.get(id) ?? 0,
    channels: (JSON.parse(channels) as readonly ListedChannel[]).map(overviewOf),
  }));
  return withRollbacks(sql, organizationId, apps);
}

/** Adds when the newest releases that were rolled back were: what the audit says last of them. */
async function withRollbacks(
  sql: Sql,
  organizationId: string,
  apps: readonly AppOverview[],
): Promise<readonly AppOverview[]> {
  const subjects = apps.flatMap(({ ref, channels }) =>
    channels
      .filter(({ newest }) => newest?.status === 'rolled_back')
      .map(({ name, newest }) => subjectOf(ref, name, newest)),
  );
  if (subjects.length === 0) return apps;
  const rows = await sql.query<{ subject: string; at: string }>(
    `SELECT subject, ${isoText('max(at)')} AS at FROM audit_entries
     WHERE organization_id = $1 AND subject = ANY ($2::text[])
       AND action = 'release.serve' AND after ->> 'status' = 'rolled_back'
     GROUP BY subject`,
    [organizationId, subjects],
  );
  const times = new Map(rows.map(({ subject, at }) => [subject, at]));
  const timed = (ref: string, { name, newest, ...channel }: ChannelOverview): ChannelOverview => ({
    ...{ name, ...channel },
    newest: newest && { ...newest, rolledBackAt: times.get(subjectOf(ref, name, newest)) ?? null },
  });
  return apps.map((app) => ({
    ...app,
    channels: app.channels.map((channel) => timed(app.ref, channel)),
  }));
}

function subjectOf(app: string, channel: string, release: NewestRelease | null): string {
  return `${app}/${channel}@${release?.version ?? ''}`;
}

function overviewOf({ name, releases }: ListedChannel): ChannelOverview {
  const sorted = byVersion(releases, ([version]) => version);
  const rolling: RollingRelease[] = [];
  let serving: string | null = null;
  for (const [version, status, rolloutPct, , hasArtifacts, isTargeted] of sorted) {
    if (status !== 'published') continue;
    // Below a release at 100 %, lower ones reach no further devices, unless not all can have it.
    if (rolloutPct === 100 && (isTargeted || !hasArtifacts)) continue;
    if (rolloutPct === 100) serving = version;
    if (rolloutPct === 100 || rolling.length === ROLLING_MAX) break;
    rolling.push({ version, rolloutPct });
  }
  return { name, releases: releases.length, newest: newestOf(sorted[0]), serving, rolling };
}

function newestOf(release: ListedRelease | undefined): NewestRelease | null {
  if (release === undefined) return null;
  const [version, status, rolloutPct, createdAt, hasArtifacts] = release;
  return { version, status, rolloutPct, createdAt, hasArtifacts, rolledBackAt: null };
}
