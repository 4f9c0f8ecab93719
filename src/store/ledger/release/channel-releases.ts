// SQL of a page of a channel's releases, highest version first.

import type { ListedRelease } from '../../../contract/console.ts';
import { isFailure, type Outcome } from '../../../contract/failure.ts';
import { byVersion } from '../../../domain/decision/version.ts';
import type { ReleaseFilter, UnjudgedReleases } from '../../console-ledger.ts';
import type { OwnedApp } from '../../ledger-terms.ts';
import { findChannel } from '../change/channels.ts';
import { columns, RELEASE_HEAD, textOrNull } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';
import { countOn } from '../fleet/fleet-counts.ts';
import { listOpenPlans } from '../rollout/rollout-plans.ts';
import { runningDevices } from './release-reads.ts';
import { readStatusChanges } from './status-changes.ts';

type Row = Omit<ListedRelease, 'plan' | 'standing'>;

const RELEASES = `
  SELECT ${columns<Row>({
    ...RELEASE_HEAD,
    artifacts: '(SELECT count(*)::int FROM artifacts WHERE release_id = releases.id)',
    devices: runningDevices('$1', 'releases.canonical_version'),
  })}
  FROM releases WHERE id = ANY ($2::text[])`;

/**
 * Reads a page of the channel's releases, highest version first. Reads the versions of all releases and sorts
 * them here, because SQL cannot compare versions; then reads the page's releases. A release published between
 * the two reads appears with the next request; a withdrawn one is left out.
 */
export async function listChannelReleases(
  sql: Sql,
  app: OwnedApp,
  channelName: string,
  { page, perPage, version, status }: ReleaseFilter,
): Promise<Outcome<UnjudgedReleases>> {
  const channel = await findChannel(sql, app.id, channelName);
  if (isFailure(channel)) return channel;
  const all = await sql.query<{ id: string; version: string }>(
    `SELECT id, canonical_version AS version FROM releases
     WHERE channel_id = $1 AND ($2::text IS NULL OR starts_with(version, $2))
       AND ($3::text IS NULL OR status = $3)`,
    [channel.id, textOrNull(version), status ?? null],
  );
  const ids = byVersion(all, ({ version }) => version)
    .slice((page - 1) * perPage, page * perPage)
    .map(({ id }) => id);
  const rows = await sql.query<Row>(RELEASES, [channel.id, ids]);
  const fleet = await countOn(sql, app.id, channel.name);
  const plans = await listOpenPlans(sql, rows);
  const stopped = rows
    .filter((row) => row.status !== 'published')
    .map((row) => ({ app: app.ref, channel: channel.name, version: row.version, id: row.id }));
  const changes = await readStatusChanges(sql, app.organizationId, stopped);
  const known = new Map(
    rows.map((row) => {
      const [plan, change] = [plans.get(row.id) ?? null, changes.get(row.id) ?? null];
      return [row.id, { ...row, plan, change }];
    }),
  );
  return {
    releases: ids.map((id) => known.get(id)).filter((row) => row !== undefined),
    total: all.length,
    fleet,
  };
}
