// SQL of the overviews of an organization's apps for the console: their channels, and what each serves.

import type {
  AppOverview,
  ChannelFacts,
  ChannelOverview,
  NewestRelease,
} from '../../../contract/console.ts';
import { LIMIT } from '../../../contract/limit.ts';
import type { AppState, Artifact, ReleaseStatus, Targeting } from '../../../contract/resource.ts';
import type { ReleaseStanding } from '../../../contract/standing.ts';
import { compileCatalog } from '../../../domain/decision/catalog.ts';
import type {
  ServingSnapshot,
  SnapshotRelease,
} from '../../../domain/decision/serving-snapshot.ts';
import { type Standings, standingsIn } from '../../../domain/decision/standing.ts';
import { byVersion, parseVersion } from '../../../domain/decision/version.ts';
import { conditionsText, isoText, jsonObject } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';
import { type AppTotal, countSeenByApp } from '../fleet/fleet-counts.ts';
import { readStatusChanges } from '../release/status-changes.ts';
import { readChannelFacts } from './channel-facts.ts';

type Row = AppTotal & AppState & { readonly channels: string };

type ListedChannel = {
  readonly name: string;
  readonly follows: string | null;
  readonly requireSignature: boolean;
  readonly releases: readonly ListedRelease[];
};

type ListedRelease = readonly [
  id: string,
  version: string,
  status: ReleaseStatus,
  rollout: number,
  createdAt: string,
  hasArtifacts: boolean,
  isTargeted: boolean,
];

/** Release of a channel or of the one that it follows. */
type OwnRelease = {
  readonly id: string;
  readonly version: string;
  readonly status: ReleaseStatus;
  readonly rolloutPct: number;
  readonly createdAt: string;
  readonly hasArtifacts: boolean;
  readonly isTargeted: boolean;
  readonly followed: boolean;
};

/** Fields of a release that a decision needs besides those of the list. */
type Contents = { readonly targets: Targeting | null; readonly artifacts: readonly Artifact[] };

type Place = { readonly app: AppState; readonly channel: ListedChannel };

/** Channel with the releases from which its standing follows. */
type Examined = Place & {
  readonly newest: OwnRelease | undefined;
  readonly releases: readonly OwnRelease[];
};

/**
 * Number of published releases that are examined below the highest one that goes to every device: a platform
 * for which that one has no file is served one of them. The page of the channel examines all.
 */
const EXAMINED_BELOW = 9;
const EXAMINED_MAX = 30;

/** Selects channels and releases as text, which the embedded database transfers far faster than objects. */
const APPS = `
  SELECT apps.id, apps.ref, apps.name, ${isoText('apps.archived_at')} AS "archivedAt",
    apps.ddi_auth AS "ddiAuth", (
    SELECT coalesce(sum(devices), 0)::float8 FROM fleet_counts WHERE app_id = apps.id
  ) AS total, (
    SELECT coalesce(json_agg(json_build_object(
      'name', channels.name,
      'follows', (SELECT name FROM channels AS followed WHERE followed.id = channels.follows),
      'requireSignature', channels.require_signature,
      'releases', (
        SELECT coalesce(json_agg(json_build_array(
          releases.id, releases.version, releases.status, releases.rollout_pct,
          ${isoText('releases.created_at')},
          EXISTS (SELECT FROM artifacts WHERE release_id = releases.id),
          ${conditionsText('releases.targets')} IS NOT NULL
        )), '[]'::json)
        FROM releases WHERE releases.channel_id = channels.id
      )
    ) ORDER BY channels.name), '[]'::json)::text
    FROM channels WHERE channels.app_id = apps.id
  ) AS channels
  FROM apps WHERE organization_id = $1 ORDER BY ref LIMIT ${LIMIT.appsShownMax}`;

/** Artifacts with the fields that decide whether a device can install one. */
const CONTENTS = `
  SELECT id, json_build_object('targets', targets, 'artifacts', (
    SELECT coalesce(json_agg(json_strip_nulls(${jsonObject<
      Pick<Artifact, 'platform' | 'arch' | 'url' | 'format' | 'signature'>
    >({
      platform: 'platform',
      arch: 'arch',
      url: 'url',
      format: 'format',
      signature: `CASE WHEN signature <> '' THEN 'signed' END`,
    })}) ORDER BY position), '[]'::json)
    FROM artifacts WHERE release_id = releases.id
  ))::text AS contents
  FROM releases WHERE id = ANY ($1::text[])`;

/**
 * Lists an organization's apps by ref, with channels by name and the devices seen since `seenSince`. Sorts
 * releases here, because SQL cannot compare versions.
 */
export async function listAppOverviews(
  sql: Sql,
  organizationId: string,
  seenSince: string,
): Promise<readonly AppOverview[]> {
  const rows = await sql.query<Row>(APPS, [organizationId]);
  const seen = await countSeenByApp(sql, rows, seenSince);
  const apps = rows.map(({ total, channels, ...app }) => ({
    ...{ app, total },
    channels: JSON.parse(channels) as readonly ListedChannel[],
  }));
  const overviews = await readChannelOverviews(sql, organizationId, apps);
  return apps.map(({ app, total, channels }) => ({
    ...app,
    devices: total,
    devicesDay: seen.get(app.id) ?? 0,
    channels: channels.flatMap((channel) => overviews.get(channel) ?? []),
  }));
}

async function readChannelOverviews(
  sql: Sql,
  organizationId: string,
  apps: readonly { readonly app: AppState; readonly channels: readonly ListedChannel[] }[],
): Promise<ReadonlyMap<ListedChannel, ChannelOverview>> {
  const examined = apps.flatMap(({ app, channels }) =>
    channels.map((channel) => examinedIn({ app, channel }, channels)),
  );
  const ids = new Set(examined.flatMap(({ releases }) => releases.map(({ id }) => id)));
  const rows = await sql.query<{ id: string; contents: string }>(CONTENTS, [[...ids]]);
  const contents = new Map(rows.map(({ id, contents: text }) => [id, text]));
  const stopped = examined.flatMap(({ app, channel, newest }) =>
    newest === undefined || newest.status === 'published'
      ? []
      : [{ id: newest.id, app: app.ref, channel: channel.name, version: newest.version }],
  );
  const changes = await readStatusChanges(sql, organizationId, stopped);
  const facts = await readChannelFacts(
    sql,
    examined.map(({ app, channel, newest }) => ({
      ...{ appId: app.id, channel: channel.name, newest: newest?.version },
    })),
  );
  return new Map(
    examined.map((each, index) => [
      each.channel,
      overviewOf(
        each,
        standingsIn(compileCatalog(snapshotOf(each, contents)), changes),
        facts[index] ?? { devices: 0, onNewest: 0, plan: null },
      ),
    ]),
  );
}

/** Picks the newest release, and the published ones that can be served, highest version first. */
function examinedIn(place: Place, channels: readonly ListedChannel[]): Examined {
  const { channel } = place;
  const own = channel.releases.map((release) => ownOf(release, false));
  const followed = channels.find(({ name }) => name === channel.follows)?.releases ?? [];
  const versions = new Set(own.map(({ version }) => parseVersion(version)?.canonical));
  const others = followed
    .map((release) => ownOf(release, true))
    .filter(({ version }) => !versions.has(parseVersion(version)?.canonical));
  const [newest] = byVersion(own, ({ version }) => version);
  const published = byVersion(
    [...own, ...others].filter(({ status }) => status === 'published'),
    ({ version }) => version,
  );
  const whole = published.findIndex(
    ({ rolloutPct, hasArtifacts, isTargeted }) => rolloutPct === 100 && hasArtifacts && !isTargeted,
  );
  const count = whole === -1 ? EXAMINED_MAX : Math.min(whole + 1 + EXAMINED_BELOW, EXAMINED_MAX);
  const releases = new Set([
    ...(newest === undefined ? [] : [newest]),
    ...published.slice(0, count),
  ]);
  return { ...place, newest, releases: [...releases] };
}

function ownOf(
  [id, version, status, rolloutPct, createdAt, hasArtifacts, isTargeted]: ListedRelease,
  followed: boolean,
): OwnRelease {
  return { id, version, status, rolloutPct, createdAt, hasArtifacts, isTargeted, followed };
}

/** Returns the examined releases as the channel's snapshot. */
function snapshotOf(
  { app, channel, releases }: Examined,
  contents: ReadonlyMap<string, string>,
): ServingSnapshot {
  const { name, follows, requireSignature } = channel;
  return {
    ...{ appId: app.id, appRef: app.ref, channelId: name, channel: name, epoch: 0, revision: 0 },
    ...{ updateMode: 'optional', minimumSupportedVersion: null, requireSignature, follows },
    ...{ ddi: null, ddiAuth: null },
    releases: releases.flatMap(({ hasArtifacts: _, isTargeted: __, ...release }) => {
      const text = contents.get(release.id);
      if (text === undefined) return [];
      const { targets, artifacts } = JSON.parse(text) as Contents;
      const rest = { edition: release.id, notes: '', offered: true, targets, artifacts };
      const actions = { number: 0, retriedAt: null };
      return [{ ...release, ...rest, ...actions } satisfies SnapshotRelease];
    }),
  };
}

function overviewOf(
  { channel, newest }: Examined,
  { releases, channel: standing }: Standings,
  facts: ChannelFacts,
): ChannelOverview {
  const own = newest && releases.get(newest.id);
  return {
    name: channel.name,
    releases: channel.releases.length,
    follows: channel.follows,
    newest: newest === undefined || own === undefined ? null : newestOf(newest, own),
    standing,
    ...facts,
  };
}

function newestOf(
  { version, status, rolloutPct, createdAt }: OwnRelease,
  standing: ReleaseStanding,
): NewestRelease {
  return { version, status, rolloutPct, createdAt, standing };
}
