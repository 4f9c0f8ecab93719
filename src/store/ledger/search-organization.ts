// Statements that search an organization for what somebody types: apps, releases and devices.

import type { Found } from '../../contract/console.ts';
import { LIMIT } from '../../contract/limit.ts';
import { storableText } from '../../contract/text.ts';
import type { Sql } from './database.ts';

/** Apps whose ref or name contains the text, those whose ref begins with it first. */
const APPS = `
  SELECT ref, name FROM apps
  WHERE organization_id = $1
    AND (strpos(lower(ref), lower($2)) > 0 OR strpos(lower(name), lower($2)) > 0)
  ORDER BY NOT starts_with(lower(ref), lower($2)), ref LIMIT ${LIMIT.foundMax}`;

/** Releases whose version begins with the text, the newest first; that very version before all others. */
const RELEASES = `
  SELECT apps.ref AS app, channels.name AS channel, releases.version, releases.status,
    releases.rollout_pct AS "rolloutPct"
  FROM apps
  JOIN channels ON channels.app_id = apps.id
  JOIN releases ON releases.channel_id = channels.id
  WHERE apps.organization_id = $1 AND starts_with(releases.version, $2)
  ORDER BY releases.version <> $2, releases.created_at DESC, apps.ref, channels.name
  LIMIT ${LIMIT.foundMax}`;

/**
 * Devices whose id begins with the text. Ids are compared by their bytes, so that the primary key of each
 * app's devices leads to them; $3 is above every text that begins with $2.
 */
const DEVICES = `
  SELECT apps.ref AS app, found.device_id AS "deviceId"
  FROM (SELECT id, ref FROM apps WHERE organization_id = $1 ORDER BY ref LIMIT ${LIMIT.appsShownMax}) AS apps
  CROSS JOIN LATERAL (
    SELECT device_id FROM devices
    WHERE devices.app_id = apps.id AND device_id >= $2 AND device_id < $3
    ORDER BY device_id LIMIT ${LIMIT.foundMax}
  ) AS found
  ORDER BY found.device_id, apps.ref LIMIT ${LIMIT.foundMax}`;

const HIGHEST = '\u{10ffff}';

/** Returns at most `LIMIT.foundMax` of each. A version is found with and without the `v` before it. */
export async function searchOrganization(
  sql: Sql,
  organizationId: string,
  text: string,
): Promise<Found> {
  const wanted = storableText(text);
  const version = wanted.replace(/^v(?=\d)/i, '');
  return {
    apps: await sql.query(APPS, [organizationId, wanted]),
    releases: await sql.query(RELEASES, [organizationId, version]),
    devices: await sql.query(DEVICES, [organizationId, wanted, `${wanted}${HIGHEST}`]),
  };
}
