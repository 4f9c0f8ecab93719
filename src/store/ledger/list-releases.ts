// Statement that reads a page of an organization's releases.

import type { Release } from '../../contract/resource.ts';
import { isStorable } from '../../contract/text.ts';
import type { ReleaseFilter, ReleasePage } from '../ledger.ts';
import { type Reach, reachValues } from '../reach.ts';
import { RELEASE_JSON } from './columns.ts';
import type { Sql } from './database.ts';

const NOTHING: ReleasePage = { releases: [], total: 0 };

/** Statement of a page. It selects the page's releases first, so that only their artifacts are read. */
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

/** Returns the page and the total in one consistent read: newest first by creation, then by id. */
export async function listReleases(
  sql: Sql,
  reach: Reach,
  filter: ReleaseFilter,
): Promise<ReleasePage> {
  const { app, channel, version, status, page, perPage } = filter;
  const texts = [app, channel, version, status].map((text) => text ?? '');
  const [organizationId, appIds] = reachValues(reach);
  if (!isStorable(organizationId, ...texts)) return NOTHING;
  // A page number has no upper limit, but the database's OFFSET has one.
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
