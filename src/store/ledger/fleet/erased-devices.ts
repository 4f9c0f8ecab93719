// SQL of devices that are erased on request: see function/erasing.sql.

import { randomBytes } from 'node:crypto';
import { fail, isFailure, type Outcome } from '../../../contract/failure.ts';
import { storableText } from '../../../contract/text.ts';
import type { Actor, TenantScope } from '../../ledger-terms.ts';
import { atomically } from '../change/atomically.ts';
import { insertAudit } from '../change/audit.ts';
import { findApp } from '../change/channels.ts';
import type { Database, Sql } from '../database/database.ts';

const KEY_BYTES = 32;

/**
 * Erases a device: its row, labels, history, offers and failures. It stays in the counts of past hours, days
 * and months, but not in the present counts or in the health of releases. Queued check-ins with a time up to
 * `slackMs` from now count as sent before the erasure, and do not bring the device back.
 *
 * The erasure and its audit entry, which has a keyed hash of the id, are one transaction. The actor's right
 * is read first, because the lock of the device's part is held from the deletion to the commit.
 */
export function eraseDevice(
  database: Database,
  scope: TenantScope,
  appName: string,
  deviceId: string,
  slackMs: number,
  actor: Actor,
): Promise<Outcome<undefined>> {
  return atomically(database, actor, async (sql) => {
    const app = await findApp(sql, scope, appName);
    if (isFailure(app)) return app;
    await sql.confirmRight();
    const [erased] = await sql.query<{ device: string | null }>(
      `SELECT erase_device($1, $2, $3::integer * interval '1 millisecond', $4) AS device`,
      [app.id, storableText(deviceId), slackMs, randomBytes(KEY_BYTES).toString('hex')],
    );
    const device = erased?.device ?? null;
    if (device === null) return fail('unknownDevice');
    await insertAudit(sql, {
      organizationId: app.organizationId,
      action: 'device.erase',
      subject: app.ref,
      before: { device },
      after: null,
    });
    return undefined;
  });
}

/** Deletes up to `rowsMax` erasures older than `before`, which no check-in precedes; returns how many. */
export async function forgetErasures(sql: Sql, before: string, rowsMax: number): Promise<number> {
  const rows = await sql.query(
    `DELETE FROM erased_devices WHERE ctid = ANY (ARRAY (
       SELECT ctid FROM erased_devices WHERE erased_at < $1 ORDER BY erased_at LIMIT $2
     )) RETURNING 1 AS one`,
    [before, rowsMax],
  );
  return rows.length;
}
