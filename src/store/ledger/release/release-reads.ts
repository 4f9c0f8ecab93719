// SQL that reads releases: lists, one release, and its page in the console with devices, history and
// adoption.

import type { ReleaseDetail, Unjudged } from '../../../contract/console.ts';
import { fail, isFailure, type Outcome } from '../../../contract/failure.ts';
import { LIMIT } from '../../../contract/limit.ts';
import type { AuditEntry, Release } from '../../../contract/resource.ts';
import type { AdoptionCurve, ReleaseAdoption } from '../../../contract/rollout-plan.ts';
import { isStorable } from '../../../contract/text.ts';
import { compareVersions, parseVersion, type Version } from '../../../domain/decision/version.ts';
import { adoptionAtAges, type SpreadInHour } from '../../../domain/rollout/adoption-at-age.ts';
import {
  type OwnedApp,
  type OwnedRelease,
  type ReleaseFilter,
  type ReleaseName,
  type ReleasePage,
  scopeValues,
  type TenantScope,
} from '../../ledger-terms.ts';
import { findChannel } from '../change/channels.ts';
import { findReleaseByName } from '../change/plan-rows.ts';
import {
  ARTIFACTS_JSON,
  AUDIT_COLUMNS,
  columns,
  isoText,
  RELEASE_HEAD,
  RELEASE_JSON,
} from '../database/columns.ts';
import type { Sql } from '../database/database.ts';
import { extrapolate, fleetSample } from '../fleet/device-samples.ts';
import { IS_KNOWN, readSignalTaking } from '../rollout/rollout-signals.ts';
import { readStatusChanges } from './status-changes.ts';

/** Maximum number of distinct versions counted on a channel, because clients may report any version. */
const VERSIONS_MAX = 20_000;

/** Columns of a release's page, in the order of the answer's fields. */
const RELEASE_COLUMNS = columns<ReleaseDetail['release']>({
  id: RELEASE_HEAD.id,
  version: RELEASE_HEAD.version,
  notes: 'notes',
  source: 'source',
  hold: 'hold',
  status: RELEASE_HEAD.status,
  rolloutPct: RELEASE_HEAD.rolloutPct,
  targets: RELEASE_HEAD.targets,
  offered: RELEASE_HEAD.offered,
  createdAt: RELEASE_HEAD.createdAt,
  artifacts: ARTIFACTS_JSON,
});

/**
 * Reads a release with its device counts and its history. Each of the statements is consistent by itself,
 * which suffices, because no change depends on the answer.
 */
export async function readReleaseDetail(
  sql: Sql,
  app: OwnedApp,
  channelName: string,
  canonicalVersion: string,
): Promise<Outcome<Unjudged<ReleaseDetail>>> {
  const channel = await findChannel(sql, app.id, channelName);
  if (isFailure(channel)) return channel;
  const release = await readRow(sql, channel.id, canonicalVersion);
  const version = parseVersion(canonicalVersion);
  if (release === undefined || version === undefined) return fail('unknownRelease');
  const running = await countRunning(sql, app.id, channel.id, version);
  const offered = await countOffered(sql, app.id, release.id, version);
  const history = await readHistory(sql, app.id, `${app.ref}/${channel.name}@${release.version}`);
  const { id } = release;
  const place = { id, app: app.ref, channel: channel.name, version: release.version };
  const changes = await readStatusChanges(sql, app.organizationId, [place]);
  const change = changes.get(id) ?? null;
  return { release, change, devices: { ...running, ...offered }, history };
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
 * Counts the devices that run the version, those that run a lower one, and all devices, on the channel and on
 * its followers that have no release of this version themselves.
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

async function countOffered(sql: Sql, appId: string, releaseId: string, version: Version) {
  const sample = await fleetSample(sql, appId);
  const [row] = await sql.query<{ looked: number; offered: number; on: number; at: string | null }>(
    `SELECT count(*)::int AS looked,
       ${isoText('max(last_offered_at) FILTER (WHERE last_offered_release_id = $2)')} AS at,
       count(*) FILTER (WHERE last_offered_release_id = $2)::int AS offered,
       count(*) FILTER (WHERE last_offered_release_id = $2 AND version = $3)::int AS "on"
     FROM ${sample.from}`,
    [appId, releaseId, version.canonical],
  );
  const { looked = 0, offered = 0, on = 0 } = row ?? {};
  const scaled = (count: number) =>
    sample.isWhole ? count : extrapolate(count, looked, sample.total);
  return {
    offered: scaled(offered),
    offeredNotOn: scaled(offered - on),
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

const NOTHING: ReleasePage = { releases: [], total: 0 };

/** Selects the page's releases first, so that only their artifacts are read. */
const PAGE = `
  WITH visible AS (
    SELECT releases.id, releases.created_at
    FROM releases
    JOIN channels ON channels.id = releases.channel_id
    JOIN apps ON apps.id = channels.app_id
    WHERE apps.organization_id = $1 AND ($8::text[] IS NULL OR apps.id = ANY ($8))
      AND ($2::text IS NULL OR apps.ref = $2 OR apps.id = $2)
      AND ($3::text IS NULL OR channels.name = $3)
      AND ($6::text IS NULL OR releases.canonical_version = $6)
      AND ($7::text IS NULL OR releases.status = $7)
  ), page AS (
    SELECT id FROM visible ORDER BY created_at DESC, id DESC LIMIT $4 OFFSET $5
  )
  SELECT
    (SELECT count(*)::int FROM visible) AS total,
    (
      SELECT coalesce(
        json_agg(${RELEASE_JSON} ORDER BY releases.created_at DESC, releases.id DESC),
        '[]'::json
      )
      FROM page
      JOIN releases ON releases.id = page.id
      JOIN channels ON channels.id = releases.channel_id
      JOIN apps ON apps.id = channels.app_id
    ) AS releases`;

/**
 * Reads a page of releases and their total in one consistent read, newest first by creation, then by id;
 * empty for unknown names.
 */
export async function listReleases(
  sql: Sql,
  scope: TenantScope,
  filter: ReleaseFilter,
): Promise<ReleasePage> {
  const { app, channel, version, status, page, perPage } = filter;
  const texts = [app, channel, version, status].map((text) => text ?? '');
  const [organizationId, appIds] = scopeValues(scope);
  if (!isStorable(organizationId, ...texts)) return NOTHING;
  // A page number has no upper limit, but OFFSET has one.
  const offset = Math.min((page - 1) * perPage, Number.MAX_SAFE_INTEGER);
  const rows = await sql.query<{ total: number; releases: readonly Release[] }>(PAGE, [
    organizationId,
    app ?? null,
    channel ?? null,
    perPage,
    offset,
    version ?? null,
    status ?? null,
    appIds,
  ]);
  return rows[0] ?? NOTHING;
}

/** Reads a release by an id that is known to exist; throws if it does not. */
export async function readRelease(sql: Sql, id: string): Promise<Release> {
  const rows = await sql.query<{ release: Release }>(
    `SELECT ${RELEASE_JSON} AS release
     FROM releases
     JOIN channels ON channels.id = releases.channel_id
     JOIN apps ON apps.id = channels.app_id
     WHERE releases.id = $1`,
    [id],
  );
  if (rows[0] === undefined) throw new Error(`Written release ${id} has no row`);
  return rows[0].release;
}

/**
 * Returns the SQL expression for the number of devices that run a release, on its channel and on its
 * followers that have no release of this version themselves. The arguments are SQL expressions for the
 * channel's id and the canonical version.
 */
export function runningDevices(channelId: string, version: string): string {
  return `(
    SELECT coalesce(sum(fleet_counts.devices), 0)::float8
    FROM channels AS place JOIN fleet_counts
      ON fleet_counts.app_id = place.app_id AND fleet_counts.channel = place.name
    WHERE fleet_counts.version = ${version} AND (
      place.id = ${channelId} OR place.follows = ${channelId} AND NOT EXISTS (
        SELECT FROM releases AS own
        WHERE own.channel_id = place.id AND own.canonical_version = ${version}
      )
    )
  )`;
}

const RELEASE = `
  SELECT ${columns<Omit<OwnedRelease, 'change'>>({
    release: RELEASE_JSON,
    targets: 'releases.targets',
    offered: 'releases.offered_at IS NOT NULL',
    offeredAt: isoText('releases.offered_at'),
    devices: runningDevices('channels.id', 'releases.canonical_version'),
  })}
  FROM releases
  JOIN channels ON channels.id = releases.channel_id
  JOIN apps ON apps.id = channels.app_id
  WHERE releases.id = $3 AND apps.organization_id = $1
    AND ($2::text[] IS NULL OR apps.id = ANY ($2))`;

/** Reads a release, its serving state, its number of devices, and who gave it its status. */
export async function readOwnedRelease(
  sql: Sql,
  scope: TenantScope,
  id: string,
): Promise<Outcome<OwnedRelease>> {
  if (!isStorable(id)) return fail('unknownRelease');
  const [organizationId, appIds] = scopeValues(scope);
  const values = [organizationId, appIds, id];
  const [owned] = await sql.query<Omit<OwnedRelease, 'change'>>(RELEASE, values);
  if (owned === undefined) return fail('unknownRelease');
  const changes = await readStatusChanges(sql, organizationId, [owned.release]);
  return { ...owned, change: changes.get(id) ?? null };
}

/** Maximum age in hours: signals are kept for 90 days. */
const AGE_HOURS_MAX = 90 * 24;

type Published = {
  readonly id: string;
  readonly version: string;
  readonly publishedAtMs: number;
  readonly ageMs: number;
};

const PUBLISHED_COLUMNS = columns<Published>({
  id: 'other.id',
  version: 'other.version',
  publishedAtMs: '(extract(epoch FROM other.published_at) * 1000)::float8',
  ageMs: '(extract(epoch FROM now() - other.published_at) * 1000)::float8',
});

/** The release, then the last one that was published before it and is not rolled back. */
const PAIR = `
  SELECT ${PUBLISHED_COLUMNS} FROM releases AS own
  JOIN releases AS other ON other.channel_id = own.channel_id AND (
    other.id = own.id OR other.published_at < own.published_at AND other.status <> 'rolled_back'
  )
  WHERE own.id = $1 AND own.published_at IS NOT NULL
  ORDER BY other.published_at DESC, other.id = own.id DESC LIMIT 2`;

const SPREAD_COLUMNS = columns<SpreadInHour & { releaseId: string }>({
  releaseId: 'release_id',
  hourMs: '(extract(epoch FROM at) * 1000)::float8',
  installed: `coalesce(sum(devices) FILTER (WHERE kind = 'installed'), 0)::float8`,
  offered: `coalesce(sum(devices) FILTER (WHERE kind = 'offered'), 0)::float8`,
});

const SPREAD = `
  SELECT ${SPREAD_COLUMNS} FROM release_signals
  WHERE release_id = ANY ($1::text[]) AND kind IN ('installed', 'offered')
    AND ${IS_KNOWN}
    AND EXISTS (SELECT FROM releases WHERE id = release_id AND is_watched)
  GROUP BY release_id, at`;

/**
 * Reads the adoption of a release among the devices that its health counts, and that of the one published
 * before it on its channel, at the same ages; null for a release that was never published.
 */
export async function readReleaseAdoption(
  sql: Sql,
  scope: TenantScope,
  name: ReleaseName,
): Promise<Outcome<ReleaseAdoption | null>> {
  const found = await findReleaseByName(sql, scope, name);
  if (isFailure(found)) return found;
  const releaseId = found.release.id;
  const [release, before] = await sql.query<Published>(PAIR, [releaseId]);
  if (release === undefined) return null;
  const { known, isPushed } = await readSignalTaking(sql, releaseId);
  const spread = await sql.query<SpreadInHour & { releaseId: string }>(SPREAD, [
    [release.id, ...(before === undefined ? [] : [before.id])],
    ...[known, isPushed],
  ]);
  const ageHours = Math.min(Math.ceil(release.ageMs / 3_600_000), AGE_HOURS_MAX);
  const curveOf = ({ id, version, publishedAtMs }: Published): AdoptionCurve => {
    const own = spread.filter((each) => each.releaseId === id);
    const ages = own.length === 0 ? [] : adoptionAtAges(publishedAtMs, own, ageHours);
    return { version, ages };
  };
  return {
    release: curveOf(release),
    before: before === undefined ? null : curveOf(before),
  };
}
