// Statement that reads a page of an organization's audit.

import type { AuditPage } from '../../contract/console.ts';
import { fail, type Outcome } from '../../contract/failure.ts';
import type { AuditEntry } from '../../contract/resource.ts';
import { storableText } from '../../contract/text.ts';
import type { AuditFilter } from '../console-ledger.ts';
import { AUDIT_COLUMNS } from './columns.ts';
import { conditionsText } from './conditions-text.ts';
import type { Sql } from './database.ts';
import { organizationExists } from './organization-exists.ts';

/** Form of a cursor: time in milliseconds and id of the last entry of a page. */
const CURSOR = /^(\d{1,16})-(\d{1,18})$/;

const targetsOf = (state: 'before' | 'after') => conditionsText(`${state} ->> 'targets'`);

/** Whether the entry of a steered release says that it was done to it ($10). */
const HAS_DONE = `CASE $10::text
    WHEN 'raised' THEN (after ->> 'rolloutPct')::int > (before ->> 'rolloutPct')::int
    WHEN 'lowered' THEN (after ->> 'rolloutPct')::int < (before ->> 'rolloutPct')::int
    WHEN 'retargeted' THEN ${targetsOf('after')} IS DISTINCT FROM ${targetsOf('before')}
    ELSE after ->> 'status' = $10 AND (before ->> 'status') IS DISTINCT FROM $10
  END`;

/**
 * Returns the newest entries first; entries of the same time in the reverse of the order in which they were
 * written. Reads one entry more than asked for, to know whether there is another page. A malformed cursor
 * counts as none: the page begins at the newest entry.
 */
export async function listAudit(
  sql: Sql,
  organizationId: string,
  filter: AuditFilter,
): Promise<Outcome<AuditPage, 'unknownOrganization'>> {
  if (!(await organizationExists(sql, organizationId))) return fail('unknownOrganization');
  const [, time, id] = CURSOR.exec(filter.before ?? '') ?? [];
  const rows = await sql.query<AuditEntry & { cursor: string }>(
    `SELECT ${AUDIT_COLUMNS}, (extract(epoch FROM entry.at) * 1000)::bigint || '-' || id AS cursor
     FROM audit_entries AS entry
     WHERE organization_id = $1
       AND ($2::bigint IS NULL OR (entry.at, entry.id)
         < (to_timestamp($2 / 1000.0)::timestamptz(3), $3::bigint))
       AND ($4::text IS NULL OR strpos(lower(actor), lower($4)) > 0)
       AND ($5::text IS NULL OR action = $5 OR starts_with(action, $5 || '.'))
       AND ($6::text IS NULL OR strpos(lower(subject), lower($6)) > 0)
       AND ($8::timestamptz IS NULL OR entry.at >= $8)
       AND ($9::timestamptz IS NULL OR entry.at < $9)
       AND ($10::text IS NULL OR action = 'release.serve' AND ${HAS_DONE})
     ORDER BY entry.at DESC, entry.id DESC LIMIT $7`,
    [
      organizationId,
      time ?? null,
      id ?? null,
      orNull(filter.actor),
      orNull(filter.action),
      orNull(filter.subject),
      filter.limit + 1,
      filter.since ?? null,
      filter.until ?? null,
      filter.did ?? null,
    ],
  );
  const page = rows.slice(0, filter.limit);
  const next = rows.length > filter.limit ? (page.at(-1)?.cursor ?? null) : null;
  return { entries: page.map(({ cursor: _, ...entry }) => entry), next };
}

function orNull(text: string | undefined): string | null {
  return text === undefined ? null : storableText(text);
}
