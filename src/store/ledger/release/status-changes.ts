// SQL that finds in the audit log who gave releases their present status, and when.

import type { StatusChange } from '../../../contract/standing.ts';
import { isoText } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';

type ReleasePlace = {
  readonly id: string;
  readonly app: string;
  readonly channel: string;
  readonly version: string;
};

/** Newest entry of each release that changed its status. */
const CHANGES = `
  SELECT DISTINCT ON (subject) subject, ${isoText('at')} AS at, actor AS by, reason
  FROM audit_entries
  WHERE organization_id = $1 AND subject = ANY ($2::text[]) AND after ->> 'status' IS NOT NULL
    AND action LIKE 'release.%' AND after ->> 'status' IS DISTINCT FROM before ->> 'status'
  ORDER BY subject, audit_entries.at DESC, id DESC`;

/** Returns the last change of status of releases by id; those without one in the audit log are left out. */
export async function readStatusChanges(
  sql: Sql,
  organizationId: string,
  releases: readonly ReleasePlace[],
): Promise<ReadonlyMap<string, StatusChange>> {
  if (releases.length === 0) return new Map();
  const ids = new Map(releases.map((release) => [subjectOf(release), release.id]));
  const rows = await sql.query<StatusChange & { subject: string }>(CHANGES, [
    organizationId,
    [...ids.keys()],
  ]);
  return new Map(
    rows.flatMap(({ subject, ...change }) => {
      const id = ids.get(subject);
      return id === undefined ? [] : [[id, change] as const];
    }),
  );
}

function subjectOf({ app, channel, version }: ReleasePlace): string {
  return `${app}/${channel}@${version}`;
}
