// A page of a channel's releases, highest version first.

import { isFailure, type Outcome } from '../../contract/failure.ts';
import type { ChannelReleases, ListedRelease } from '../../ports/console-ledger.ts';
import type { Sql } from '../database.ts';
import { byVersion } from './by-version.ts';
import { findChannel } from './find-channel.ts';
import { isoText } from './iso-text.ts';

const RELEASES = `
  SELECT id, version, status, rollout_pct AS "rolloutPct", targets,
    offered_at IS NOT NULL AS offered, ${isoText('releases.created_at')} AS "createdAt",
    (SELECT count(*)::int FROM artifacts WHERE release_id = releases.id) AS artifacts,
    (
      SELECT coalesce(sum(devices), 0)::float8 FROM fleet_counts
      WHERE app_id = $1 AND channel = $2 AND version = releases.canonical_version
    ) AS devices
  FROM releases WHERE id = ANY ($3::text[])`;

/**
 * The versions of all releases come first, to be sorted here, then the page's releases. One that is
 * published in between is on the next look; none ever goes.
 */
export async function listChannelReleases(
  sql: Sql,
  appId: string,
  channelName: string,
  page: number,
  perPage: number,
): Promise<Outcome<ChannelReleases>> {
  const channel = await findChannel(sql, appId, channelName);
  if (isFailure(channel)) return channel;
  const all = await sql.query<{ id: string; version: string }>(
    'SELECT id, canonical_version AS version FROM releases WHERE channel_id = $1',
    [channel.id],
  );
  const ids = byVersion(all, ({ version }) => version)
    .slice((page - 1) * perPage, page * perPage)
    .map(({ id }) => id);
  const rows = await sql.query<ListedRelease>(RELEASES, [appId, channel.name, ids]);
  const [fleet] = await sql.query<{ devices: number }>(
    `SELECT coalesce(sum(devices), 0)::float8 AS devices FROM fleet_counts
     WHERE app_id = $1 AND channel = $2`,
    [appId, channel.name],
  );
  const known = new Map(rows.map((row) => [row.id, row]));
  return {
    releases: ids.map((id) => known.get(id)).filter((row) => row !== undefined),
    total: all.length,
    fleet: fleet?.devices ?? 0,
  };
}
