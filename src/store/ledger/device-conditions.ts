// Filters of the device list, as conditions of statements and their parameters.

import { storableText } from '../../contract/text.ts';
import { compareVersions, parseVersion } from '../../domain/decision/version.ts';
import type { DeviceFilter } from '../fleet-ledger.ts';
import type { Sql } from './database.ts';

/** Returns the parameters $1 to $10 of the conditions: the first three are those of the versions. */
export async function deviceConditions(
  sql: Sql,
  appId: string,
  filter: DeviceFilter,
): Promise<readonly unknown[]> {
  const { version, channel, platform, label, seenSince, offered, moved } = filter;
  return [
    ...[appId, orNull(version), await versionsBelow(sql, appId, filter)],
    ...[orNull(channel), orNull(platform), orNull(label?.key), orNull(label?.value)],
    ...[seenSince ?? null, orNull(offered), moved ?? null],
  ];
}

/** Conditions on the version, of `devices`: they come before the bound of devices that a page searches. */
export const VERSION_CONDITIONS = `($2::text IS NULL OR version = $2)
  AND ($3::text[] IS NULL OR version = ANY ($3))`;

/** The other conditions, on a row of `devices` that is named `looked_at`. */
export const OTHER_CONDITIONS = `($4::text IS NULL OR channel = $4)
  AND ($5::text IS NULL OR platform = $5)
  AND ($6::text IS NULL OR labels ->> $6 = $7)
  AND ($8::timestamptz IS NULL OR last_seen >= $8)
  AND ($9::text IS NULL AND $10::text IS NULL OR EXISTS (
    SELECT FROM releases WHERE releases.id = looked_at.last_offered_release_id
      AND ($9::text IS NULL OR releases.canonical_version = $9)
      AND ($10::text IS NULL OR (releases.canonical_version = looked_at.version) = ($10 = 'yes'))
  ))`;

/**
 * Returns the versions that the filter's `below` is higher than, of those that the app's devices run; null
 * without one. They are compared here, because the database does not know the order of versions.
 */
async function versionsBelow(
  sql: Sql,
  appId: string,
  { below = '' }: DeviceFilter,
): Promise<readonly string[] | null> {
  const limit = parseVersion(below);
  if (limit === undefined) return null;
  const rows = await sql.query<{ version: string }>(
    'SELECT DISTINCT version FROM fleet_counts WHERE app_id = $1 AND devices > 0',
    [appId],
  );
  return rows
    .map(({ version }) => version)
    .filter((text) => {
      const version = parseVersion(text);
      return version !== undefined && compareVersions(version, limit) < 0;
    });
}

/** Returns the text as it would have been stored, which is what a filter must match. */
function orNull(text: string | undefined): string | null {
  return text === undefined ? null : storableText(text);
}
