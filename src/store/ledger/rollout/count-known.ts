// SQL that counts the devices by which guards can judge a release.

import type { Sql } from '../database/database.ts';
import { countInReach } from '../fleet/fleet-counts.ts';
import { highestHash, OTHERS_LOOKED_AT, type SignalTaking } from './rollout-signals.ts';

/** Days within which a device must have been seen, as in a dry run. */
const SEEN_WITHIN_DAYS = 30;

// OFFSET 0 as in rollout-signals.ts.
const KNOWN = `
  SELECT count(*)::float8 AS devices
  FROM releases JOIN channels AS own ON own.id = releases.channel_id
  JOIN channels AS place ON place.id = own.id OR place.follows = own.id
  CROSS JOIN LATERAL (
    SELECT FROM devices
    WHERE device_place(app_id, channel) = device_place(place.app_id, place.name)
      AND app_id = place.app_id AND channel = place.name AND hashtext(device_id) <= $4::integer
      AND last_seen >= now() - ${SEEN_WITHIN_DAYS} * interval '1 day'
      AND CASE WHEN $3 THEN first_reported ELSE first_seen END
        <= coalesce(releases.published_at, now()) - $2::int * interval '1 minute' OFFSET 0
  ) AS known
  WHERE releases.id = $1`;

/**
 * Estimates the devices on a release's channel and its followers that had been on record for long enough when
 * it was published (unpublished: now): exact up to about 4,000 devices, else scaled from about 4,000.
 */
export async function countKnown(
  sql: Sql,
  releaseId: string,
  { known, isPushed }: Pick<SignalTaking, 'known' | 'isPushed'>,
): Promise<number> {
  const inReach = await countInReach(sql, releaseId);
  const scale = Math.max(inReach / OTHERS_LOOKED_AT, 1);
  const [counted] = await sql.query<{ devices: number }>(KNOWN, [
    ...[releaseId, known, isPushed, highestHash(scale)],
  ]);
  return Math.round((counted?.devices ?? 0) * scale);
}
