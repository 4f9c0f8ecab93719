// An organization's audit.

import { fail, type Outcome } from '../../contract/failure.ts';
import type { AuditEntry } from '../../contract/resource.ts';
import type { Sql } from '../database.ts';
import { isoText } from './iso-text.ts';
import { organizationExists } from './organization-exists.ts';

/** Newest first; entries of the same millisecond in the reverse of the order they were written in. */
export async function listAudit(
  sql: Sql,
  organizationId: string,
  limit: number,
): Promise<Outcome<readonly AuditEntry[]>> {
  if (!(await organizationExists(sql, organizationId))) return fail('unknownOrganization');
  return sql.query<AuditEntry>(
    `SELECT ${isoText('entry.at')} AS at, actor, action, subject, before, after
     FROM audit_entries AS entry WHERE organization_id = $1
     ORDER BY entry.at DESC, entry.id DESC LIMIT $2`,
    [organizationId, limit],
  );
}
