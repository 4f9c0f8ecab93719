// Statement that reads one release of an organization by its id.

import { fail, type Outcome } from '../../contract/failure.ts';
import { isStorable } from '../../contract/text.ts';
import type { OwnedRelease } from '../ledger.ts';
import { type Reach, reachValues } from '../reach.ts';
import { columns, isoText, RELEASE_JSON } from './columns.ts';
import type { Sql } from './database.ts';
import { runningDevices } from './running-devices.ts';

const RELEASE = `
  SELECT ${columns<OwnedRelease>({
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

/** Reads the release with how it is served, and how many devices run it; all of it is of one moment. */
export async function readOwnedRelease(
  sql: Sql,
  reach: Reach,
  id: string,
): Promise<Outcome<OwnedRelease, 'unknownRelease'>> {
  if (!isStorable(id)) return fail('unknownRelease');
  const rows = await sql.query<OwnedRelease>(RELEASE, [...reachValues(reach), id]);
  return rows[0] ?? fail('unknownRelease');
}
