// SQL of devices: lists, pages, labels in use, and purges.

import type { LabelCounts } from '../../../contract/console.ts';
import type {
  DeviceCount,
  DeviceDetail,
  DevicePage,
  DeviceRecord,
  VersionChange,
} from '../../../contract/console-fleet.ts';
import { fail, isFailure, type Outcome } from '../../../contract/failure.ts';
import { LIMIT } from '../../../contract/limit.ts';
import { isDeviceClient } from '../../../contract/resource.ts';
import { storableText } from '../../../contract/text.ts';
import { compareVersions, parseVersion } from '../../../domain/decision/version.ts';
import type { CheckInSource } from '../../../domain/fleet/check-in.ts';
import type { DeviceFilter, DevicePurge, PurgedDevices, PurgePlace } from '../../fleet-ledger.ts';
import type { Actor } from '../../ledger-terms.ts';
import { type ActorSql, atomically } from '../change/atomically.ts';
import { insertAudit } from '../change/audit.ts';
import { findApp } from '../change/channels.ts';
import { columns, isoText, jsonObject, textOrNull } from '../database/columns.ts';
import type { Database, Sql } from '../database/database.ts';
import { extrapolate, fleetSample } from './device-samples.ts';
import { parseLabels } from './labels.ts';

type Row = {
  readonly looked: number;
  readonly key: string | null;
  readonly value: string;
  readonly devices: number;
};

/**
 * Counts devices per label key and value, most frequent first, for a limited number of keys and of values per
 * key. For a large fleet the counts are estimates from a sample.
 */
export async function countLabels(sql: Sql, appId: string): Promise<LabelCounts> {
  const sample = await fleetSample(sql, appId);
  const rows = await sql.query<Row>(
    `WITH looked AS MATERIALIZED (SELECT labels FROM ${sample.from}), counted AS (
       SELECT label.key, label.value, count(*) AS devices
       FROM looked, jsonb_each_text(looked.labels) AS label
       GROUP BY label.key, label.value
     ), ranked AS (
       SELECT key, value, devices, sum(devices) OVER (PARTITION BY key) AS of_key,
         row_number() OVER (PARTITION BY key ORDER BY devices DESC, value COLLATE "C") AS place
       FROM counted
     ), chosen AS (
       SELECT ranked.*, dense_rank() OVER (ORDER BY of_key DESC, key COLLATE "C") AS key_place
       FROM ranked WHERE place <= $2
     )
     SELECT (SELECT count(*)::int FROM looked) AS looked, key, value, devices::int AS devices
     FROM chosen WHERE key_place <= $3 ORDER BY key_place, place`,
    [appId, LIMIT.labelValuesShownMax, LIMIT.labelKeysShownMax],
  );
  const keys = new Map<string, { value: string; devices: number }[]>();
  for (const { looked, key, value, devices } of rows) {
    if (key === null) continue;
    const values = keys.get(key) ?? [];
    const known = sample.isWhole ? devices : extrapolate(devices, looked, sample.total);
    keys.set(key, [...values, { value, devices: known }]);
  }
  return {
    keys: [...keys].map(([key, values]) => ({ key, values })),
    sampled: !sample.isWhole,
  };
}

/** Returns the parameters $1 to $11 of the filter conditions; $1 to $3 are those of the version. */
export async function deviceConditions(
  sql: Sql,
  appId: string,
  filter: DeviceFilter,
): Promise<readonly unknown[]> {
  const { version, channel, platform, label, seenSince, offered, moved, id } = filter;
  return [
    ...[appId, textOrNull(version), await versionsBelow(sql, appId, filter)],
    ...[
      textOrNull(channel),
      textOrNull(platform),
      textOrNull(label?.key),
      textOrNull(label?.value),
    ],
    ...[seenSince ?? null, textOrNull(offered), moved ?? null, textOrNull(id)],
  ];
}

/** Conditions on the version of `devices`, which limit the devices that a page searches. */
export const VERSION_CONDITIONS = `($2::text IS NULL OR version = $2)
  AND ($3::text[] IS NULL OR version = ANY ($3))`;

/** The other conditions, on rows of `devices AS looked_at`. */
export const OTHER_CONDITIONS = `($4::text IS NULL OR channel = $4)
  AND ($5::text IS NULL OR platform = $5)
  AND ($6::text IS NULL OR labels ->> $6 = $7)
  AND ($8::timestamptz IS NULL OR last_seen >= $8)
  AND ($9::text IS NULL AND $10::text IS NULL OR EXISTS (
    SELECT FROM releases WHERE releases.id = looked_at.last_offered_release_id
      AND ($9::text IS NULL OR releases.canonical_version = $9)
      AND ($10::text IS NULL OR (releases.canonical_version = looked_at.version) = ($10 = 'yes'))
  ))
  AND ($11::text IS NULL OR strpos(lower(looked_at.device_id), lower($11)) > 0)`;

/** Returns the app's versions below the filter's `below`, compared here; null without such a filter. */
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

export type DeviceRow = {
  readonly deviceId: string;
  /** Canonical version; empty if unknown. */
  readonly version: string;
  readonly platform: string;
  /** Architecture; empty if unknown. */
  readonly arch: string;
  readonly channel: string;
  /** Labels as JSON text. */
  readonly labels: string;
  readonly source: CheckInSource;
  /** Kind of client of the last check-in; empty if unknown. */
  readonly client: string;
  /** Kind of installation; empty if unknown. */
  readonly bundle: string;
  readonly firstSeen: string;
  readonly lastSeen: string;
  readonly offeredVersion: string | null;
  readonly offeredAt: string | null;
};

/** Columns of a `DeviceRow`, for rows of `devices` left joined with `releases`. */
export const DEVICE_COLUMNS = columns<DeviceRow>({
  deviceId: 'devices.device_id',
  version: 'devices.version',
  platform: 'devices.platform',
  arch: 'devices.arch',
  channel: 'devices.channel',
  labels: 'devices.labels::text',
  source: 'devices.source',
  client: 'devices.client',
  bundle: 'devices.bundle',
  firstSeen: isoText('devices.first_seen'),
  lastSeen: isoText('devices.last_seen'),
  offeredVersion: 'releases.version',
  offeredAt: isoText('devices.last_offered_at'),
});

/** Converts a row to the contract's record, with null for empty texts. */
export function deviceOf(row: DeviceRow): DeviceRecord {
  const { deviceId, version, platform, arch, channel, source, client, bundle } = row;
  const { firstSeen, lastSeen, offeredVersion, offeredAt } = row;
  return {
    deviceId,
    version: version === '' ? null : version,
    platform,
    arch: arch === '' ? null : arch,
    channel,
    labels: Object.fromEntries(parseLabels(row.labels)),
    source,
    client: isDeviceClient(client) ? client : null,
    bundle: bundle === '' ? null : bundle,
    firstSeen,
    lastSeen,
    lastOffered:
      offeredVersion === null || offeredAt === null
        ? null
        : { version: offeredVersion, at: offeredAt },
  };
}

/** Maximum number of devices that a page searches, because most filters have no index. */
const LOOKED_AT_MAX = 20_000;

/** Devices that a page searches: after an id, and from one id up to another; each parameter may be null. */
const lookedAt = (after: string, from: string, below: string) => `FROM devices
  WHERE app_id = $1 AND (${after}::text IS NULL OR device_id > ${after})
    AND (${from}::text IS NULL OR device_id >= ${from} AND device_id < ${below}::text)
    AND ${VERSION_CONDITIONS}
  ORDER BY device_id`;

/** Selects the page's devices first, so that only their releases are joined. */
const PAGE = `
  WITH page AS (
    SELECT app_id, device_id
    FROM (SELECT * ${lookedAt('$12', '$13', '$14')} LIMIT ${LOOKED_AT_MAX}) AS looked_at
    WHERE ${OTHER_CONDITIONS}
    ORDER BY device_id LIMIT $15
  )
  SELECT ${DEVICE_COLUMNS}
  FROM page
  JOIN devices USING (app_id, device_id)
  LEFT JOIN releases ON releases.id = devices.last_offered_release_id
  ORDER BY devices.device_id`;

/** Finds the last device that a page has searched; no row if it searched fewer than the maximum. */
const LAST_LOOKED_AT = `
  SELECT device_id AS "deviceId" ${lookedAt('$4', '$5', '$6')} OFFSET ${LOOKED_AT_MAX - 1} LIMIT 1`;

/**
 * Returns the range of ids that begin with the text. If no id does, returns nulls, so that the whole fleet is
 * searched for the text. Ids are ordered by bytes, so that the primary key finds them.
 */
async function idRange(
  sql: Sql,
  appId: string,
  text: string | undefined,
): Promise<readonly [from: string | null, below: string | null]> {
  const from = textOrNull(text);
  if (from === null || from === '') return [null, null];
  const range = [from, `${from}${HIGHEST}`] as const;
  const rows = await sql.query(
    'SELECT FROM devices WHERE app_id = $1 AND device_id >= $2 AND device_id < $3 LIMIT 1',
    [appId, ...range],
  );
  return rows.length === 0 ? [null, null] : range;
}

/** Above every text that follows a prefix. */
const HIGHEST = '\u{10ffff}';

/**
 * Reads a page of the app's devices by device id, beginning after the cursor. The app is given by ref or id.
 * Reads one row more than asked for, to detect a next page. With a filter that few devices match, a page may
 * be short or empty and still have a `next`.
 */
export async function listDevices(
  sql: Sql,
  appName: string,
  filter: DeviceFilter,
): Promise<Outcome<DevicePage>> {
  const app = await findApp(sql, undefined, appName);
  if (isFailure(app)) return app;
  const { limit } = filter;
  const after = textOrNull(filter.after);
  const conditions = await deviceConditions(sql, app.id, filter);
  const range = await idRange(sql, app.id, filter.id);
  const rows = await sql.query<DeviceRow>(PAGE, [...conditions, after, ...range, limit + 1]);
  const devices = rows.slice(0, limit).map(deviceOf);
  if (rows.length > limit) return { devices, next: devices.at(-1)?.deviceId ?? null };
  const [last] = await sql.query<{ deviceId: string }>(LAST_LOOKED_AT, [
    ...conditions.slice(0, 3),
    ...[after, ...range],
  ]);
  return { devices, next: last?.deviceId ?? null };
}

/**
 * Counts the devices that a filter matches, without its cursor: one by one in a small fleet, else in a
 * sample. With an id, `devices` is null in a large fleet: a sample says nothing about single devices.
 */
export async function countDevices(
  sql: Sql,
  appName: string,
  filter: DeviceFilter,
): Promise<Outcome<DeviceCount>> {
  const app = await findApp(sql, undefined, appName);
  if (isFailure(app)) return app;
  const sample = await fleetSample(sql, app.id);
  if (!sample.isWhole && textOrNull(filter.id)) return { devices: null, isEstimate: true };
  const [row] = await sql.query<{ looked: number; matching: number }>(
    `SELECT count(*)::int AS looked,
       (count(*) FILTER (WHERE ${VERSION_CONDITIONS} AND ${OTHER_CONDITIONS}))::int AS matching
     FROM (SELECT * FROM ${sample.from}) AS looked_at`,
    await deviceConditions(sql, app.id, filter),
  );
  const { looked = 0, matching = 0 } = row ?? {};
  const devices = sample.isWhole ? matching : extrapolate(matching, looked, sample.total);
  return { devices, isEstimate: !sample.isWhole };
}

type DetailRow = DeviceRow & {
  /** Newest version changes, as JSON text. */
  readonly changes: string;
  /** Number of changes that the device ever had. */
  readonly changeCount: number;
};

const CHANGE = jsonObject<VersionChange>({
  at: isoText('change.at'),
  from: 'change.from_version',
  to: 'change.to_version',
});

const DEVICE = `
  SELECT ${DEVICE_COLUMNS}, (
    SELECT coalesce(json_agg(${CHANGE} ORDER BY change.later), '[]')::text
    FROM (
      SELECT at, from_version, to_version, later, row_number() OVER (ORDER BY later) AS number
      FROM device_versions, changes_after(slot, devices.version_changes) AS later
      WHERE app_id = devices.app_id AND device_id = devices.device_id
    ) AS change
    WHERE change.later < $3::integer AND change.later = change.number - 1
  ) AS changes, devices.version_changes AS "changeCount"
  FROM devices
  LEFT JOIN releases ON releases.id = devices.last_offered_release_id
  WHERE devices.app_id = $1 AND devices.device_id = $2`;

/**
 * Reads a device with its version changes, newest first, in one consistent read. Leaves out changes beyond
 * `history`, which the sweep deletes later, and changes older than a gap that a shorter history left.
 */
export async function readDevice(
  sql: Sql,
  appName: string,
  deviceId: string,
  history: number,
): Promise<Outcome<DeviceDetail>> {
  const app = await findApp(sql, undefined, appName);
  if (isFailure(app)) return app;
  const [row] = await sql.query<DetailRow>(DEVICE, [app.id, storableText(deviceId), history]);
  if (row === undefined) return fail('unknownDevice');
  const device = deviceOf(row);
  const changes: readonly VersionChange[] = JSON.parse(row.changes);
  const isWhole = changes.length === row.changeCount && changes.length < history;
  return { ...device, history: isWhole ? withFirst(device, changes) : changes };
}

/** Adds the first version, which has no row, if the changes reach back to it. */
function withFirst(
  { version, firstSeen }: DeviceRecord,
  changes: readonly VersionChange[],
): readonly VersionChange[] {
  const oldest = changes.at(-1);
  const first = oldest === undefined ? version : oldest.from;
  if (first === null) return changes;
  return [...changes, { at: firstSeen, from: null, to: first }];
}

type PurgedRow = { readonly purged: readonly string[]; readonly next: string | null };

/** Maximum number of devices that one transaction reads and deletes, because other writers wait for it. */
const ROWS_MAX = 1000;

/**
 * Looks at the next 1,000 devices by id, and deletes those of the purge with their versions and their part in
 * the counts. A purge has one audit entry, which holds the number deleted so far; the same transaction
 * updates it. Reads the actor's right first, because the transaction holds the locks of the devices' parts
 * from the deletion to the commit.
 */
export function purgeDevices(
  database: Database,
  purge: DevicePurge,
  { after, auditEntryId, devices }: PurgePlace,
  actor: Actor,
): Promise<Outcome<PurgedDevices>> {
  return atomically(database, actor, async (sql) => {
    await sql.confirmRight();
    const { purged, next } = await callPurge(sql, purge, after, false);
    const place = { after: next, auditEntryId, devices: devices + purged.length };
    if (purged.length === 0) return { purged, place };
    return { purged, place: { ...place, auditEntryId: await audit(sql, purge, place) } };
  });
}

/** Counts the devices that `purgeDevices` would delete in one call, and returns how far it looked. */
export async function countPurgeable(
  sql: Sql,
  purge: DevicePurge,
  after: string | undefined,
): Promise<Pick<PurgePlace, 'after' | 'devices'>> {
  const { purged, next } = await callPurge(sql, purge, after, true);
  return { devices: purged.length, after: next };
}

async function callPurge(
  sql: Sql,
  { app, firstSeenAfter, version }: DevicePurge,
  after: string | undefined,
  isDryRun: boolean,
): Promise<{ readonly purged: readonly string[]; readonly next: string | undefined }> {
  const rows = await sql.query<PurgedRow>(
    `SELECT purged, looked_up_to AS next
     FROM purge_devices($1, $2, $3::timestamptz, $4, $5::integer, $6::boolean)`,
    [
      ...[app.id, storableText(after ?? ''), firstSeenAfter],
      ...[textOrNull(version), ROWS_MAX, isDryRun],
    ],
  );
  if (rows[0] === undefined) throw new Error('The purge did not tell what it did');
  const { purged, next } = rows[0];
  return { purged, next: next ?? undefined };
}

/** Adds the audit entry of a purge, or updates its number of devices; returns its id. */
async function audit(
  sql: ActorSql,
  { app, firstSeenAfter, version }: DevicePurge,
  { auditEntryId, devices }: PurgePlace,
): Promise<string> {
  const after = { firstSeenAfter, version: version ?? null, devices };
  if (auditEntryId !== undefined) {
    await sql.query('UPDATE audit_entries SET after = $2 WHERE id = $1', [
      ...[auditEntryId, JSON.stringify(after)],
    ]);
    return auditEntryId;
  }
  return insertAudit(sql, {
    organizationId: app.organizationId,
    action: 'device.purge',
    subject: app.ref,
    before: null,
    after,
  });
}
