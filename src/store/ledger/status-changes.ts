// SQL that finds in the audit log who gave releases their present status, and when.

import type { StatusChange } from '../../contract/standing.ts';
import { isoText } from './columns.ts';
import type { Sql } from './database.ts';

type ReleasePlace = {
  readonly app: string;
  readonly channel: string;
  readonly version: string;
};

/** Entries that set a status, newest first; an entry that leaves it as it was does not count. */
const CHANGES = `
  SELECT DISTINCT ON (subject) subject, ${isoText('at')} AS at, actor AS by, reason
  FROM audit_entries
  WHERE organization_id = $1 AND subject = ANY ($2::text[]) AND after ->> 'status' IS NOT NULL
    AND action LIKE 'release.%' AND after ->> 'status' IS DISTINCT FROM before ->> 'status'
  ORDER BY subject, audit_entries.at DESC, id DESC`;

/**
 * Returns the last change of status of each release, by the release; those without one in the audit log are
 * left out.
 */
export async function readStatusChanges<Release extends ReleasePlace>(
  sql: Sql,
  organizationId: string,
  releases: readonly Release[],
): Promise<ReadonlyMap<Release, StatusChange>> {
  if (releases.length === 0) return new Map();
  const bySubject = new Map(releases.map((release) => [subjectOf(release), release]));
  const rows = await sql.query<StatusChange & { subject: string }>(CHANGES, [
    organizationId,
    [...bySubject.keys()],
  ]);
  return new Map(
    rows.flatMap(({ subject, ...change }) => {
      const release = bySubject.get(subject);
      return release === undefined ? [] : [[release, change] as const];
    }),
  );
}

function subjectOf({ app, channel, version }: ReleasePlace): string {
  return `${app}/${channel}@${version}`;
}
