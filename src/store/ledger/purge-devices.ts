// Transaction that deletes devices which should never have come to the record, and audits it.

import type { LostRight, Outcome } from '../../contract/failure.ts';
import { storableText } from '../../contract/text.ts';
import type { DevicePurge, PurgedDevices, PurgePlace } from '../fleet-ledger.ts';
import type { Actor } from '../ledger-terms.ts';
import { type ActorSql, atomically } from './atomically.ts';
import { insertAudit } from './audit.ts';
import type { Database, Sql } from './database.ts';

type Row = { readonly purged: readonly string[]; readonly next: string | null };

/** Maximum number of devices that one transaction looks at, and thus deletes: others wait for its lock. */
const ROWS_MAX = 1000;

/**
 * Deletes the next devices in one transaction, which raises the number in the audit entry of this purge. The
 * right of the actor is read first, because the lock of the fleet is held from the deletion to the commit.
 */
export function purgeDevices(
  database: Database,
  purge: DevicePurge,
  { after, auditEntryId, devices }: PurgePlace,
  actor: Actor,
): Promise<Outcome<PurgedDevices, LostRight>> {
  return atomically(database, actor, async (sql) => {
    await sql.confirmRight();
    const { purged, next } = await callPurge(sql, purge, after, false);
    const place = { after: next, auditEntryId, devices: devices + purged.length };
    if (purged.length === 0) return { purged, place };
    return { purged, place: { ...place, auditEntryId: await audit(sql, purge, place) } };
  });
}

/** Counts the next devices that a purge would delete. */
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
  const rows = await sql.query<Row>(
    `SELECT purged, looked_up_to AS next
     FROM purge_devices($1, $2, $3::timestamptz, $4, $5::integer, $6::boolean)`,
    [
      ...[app.id, storableText(after ?? ''), firstSeenAfter],
      ...[version === undefined ? null : storableText(version), ROWS_MAX, isDryRun],
    ],
  );
  if (rows[0] === undefined) throw new Error('The purge did not tell what it did');
  const { purged, next } = rows[0];
  return { purged, next: next ?? undefined };
}

/** Adds the audit entry of a purge, or brings it up to date; returns its id. */
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
