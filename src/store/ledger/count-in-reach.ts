// Statement that counts the devices that a release could reach.

import type { Sql } from './database.ts';

const IN_REACH = `
  SELECT coalesce(sum(fleet_counts.devices), 0)::float8 AS devices FROM releases
  JOIN channels AS own ON own.id = releases.channel_id
  JOIN channels AS place ON place.id = own.id OR place.follows = own.id
  JOIN fleet_counts ON fleet_counts.app_id = place.app_id AND fleet_counts.channel = place.name
  WHERE releases.id = $1`;

/** Counts the devices of a release's channel and of those that follow it. */
export async function countInReach(sql: Sql, releaseId: string): Promise<number> {
  const [sum] = await sql.query<{ devices: number }>(IN_REACH, [releaseId]);
  return sum?.devices ?? 0;
}
