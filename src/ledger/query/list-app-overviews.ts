// An organization's apps at a glance.

import { LIMIT } from '../../contract/limit.ts';
import type { ReleaseStatus } from '../../contract/resource.ts';
import type { AppOverview, ChannelOverview, NewestRelease } from '../../ports/console-ledger.ts';
import type { Sql } from '../database.ts';
import { byVersion } from './by-version.ts';
import { type AppTotal, countSeenByApp } from './count-seen-by-app.ts';
import { isoText } from './iso-text.ts';

type Row = AppTotal & { readonly ref: string; readonly name: string; readonly channels: string };
type ListedChannel = { readonly name: string; readonly releases: readonly ListedRelease[] };
type ListedRelease = [version: string, status: ReleaseStatus, rollout: number, createdAt: string];

const ROLLING_MAX = 10;

/** As text, which crosses to the embedded database's client far quicker than thousands of objects. */
const APPS = `
  SELECT apps.id, apps.ref, apps.name, (
    SELECT coalesce(sum(devices), 0)::float8 FROM fleet_counts WHERE app_id = apps.id
  ) AS total, (
    SELECT coalesce(json_agg(json_build_object('name', channels.name, 'releases', (
      SELECT coalesce(json_agg(json_build_array(
        releases.version, releases.status, releases.rollout_pct, ${isoText('releases.created_at')}
      )), '[]'::json)
      FROM releases WHERE releases.channel_id = channels.id
    )) ORDER BY channels.name), '[]'::json)::text
    FROM channels WHERE channels.app_id = apps.id
  ) AS channels
  FROM apps WHERE organization_id = $1 ORDER BY ref LIMIT ${LIMIT.appsShownMax}`;

/** Apps by ref, channels by name; the releases are sorted here, where versions have an order. */
export async function listAppOverviews(
  sql: Sql,
  organizationId: string,
  seenSince: string,
): Promise<readonly AppOverview[]> {
  const rows = await sql.query<Row>(APPS, [organizationId]);
  const seen = await countSeenByApp(sql, rows, seenSince);
  return rows.map(({ id, ref, name, total, channels }) => ({
    id,
    ref,
    name,
    devices: total,
    devicesDay: seen.get(id) ?? 0,
    channels: (JSON.parse(channels) as readonly ListedChannel[]).map(overviewOf),
  }));
}

function overviewOf({ name, releases }: ListedChannel): ChannelOverview {
  const sorted = byVersion(releases, ([version]) => version);
  const rolling: { version: string; rolloutPct: number }[] = [];
  for (const [version, status, rolloutPct] of sorted) {
    if (status !== 'published') continue;
    // What lies below a release for everybody reaches nobody new.
    if (rolloutPct === 100 || rolling.length === ROLLING_MAX) break;
    rolling.push({ version, rolloutPct });
  }
  return { name, releases: releases.length, newest: newestOf(sorted[0]), rolling };
}

function newestOf(release: ListedRelease | undefined): NewestRelease | null {
  if (release === undefined) return null;
  const [version, status, rolloutPct, createdAt] = release;
  return { version, status, rolloutPct, createdAt };
}
