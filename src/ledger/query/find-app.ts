// An app by what callers call it: its ref or its id.

import { type Failure, fail } from '../../contract/failure.ts';
import type { Sql } from '../database.ts';
import { isStorable } from './is-storable.ts';

export type FoundApp = {
  readonly id: string;
  readonly ref: string;
  readonly organizationId: string;
};

/**
 * One read, no lock: an app never changes its ref or organization. With an organization given, the apps
 * of all others are unknown; undefined is for the operator, who sees all. Should a ref equal another
 * app's id (`createApp` refuses that), the ref wins, so that the answer is always the same one.
 */
export async function findApp(
  sql: Sql,
  organizationId: string | undefined,
  app: string,
): Promise<FoundApp | Failure> {
  if (!isStorable(app, organizationId ?? '')) return fail('unknownApp');
  const rows = await sql.query<FoundApp>(
    `SELECT id, ref, organization_id AS "organizationId" FROM apps
     WHERE ($1::text IS NULL OR organization_id = $1) AND (ref = $2 OR id = $2)
     ORDER BY (ref = $2) DESC LIMIT 1`,
    [organizationId ?? null, app],
  );
  return rows[0] ?? fail('unknownApp');
}
