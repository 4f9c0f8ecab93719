// Statement that finds an app by its ref or id.

import { type Failure, fail } from '../../contract/failure.ts';
import { isStorable } from '../../contract/text.ts';
import { type Reach, reachValues } from '../reach.ts';
import type { Sql } from './database.ts';

export type FoundApp = {
  readonly id: string;
  readonly ref: string;
  readonly organizationId: string;
};

/**
 * Reads without a lock, because an app never changes its ref or organization. Apps beyond the reach are
 * unknown; undefined is for the operator, who sees all apps. If a ref ever
 * equals another app's id (`createApp` refuses that), the ref wins, so that the answer is always the same.
 */
export async function findApp(
  sql: Sql,
  reach: Reach | undefined,
  app: string,
): Promise<FoundApp | Failure<'unknownApp'>> {
  const [organizationId, appIds] = reach === undefined ? [null, null] : reachValues(reach);
  if (!isStorable(app, organizationId ?? '')) return fail('unknownApp');
  const rows = await sql.query<FoundApp>(
    `SELECT id, ref, organization_id AS "organizationId" FROM apps
     WHERE ($1::text IS NULL OR organization_id = $1) AND ($3::text[] IS NULL OR id = ANY ($3))
       AND (ref = $2 OR id = $2)
     ORDER BY (ref = $2) DESC LIMIT 1`,
    [organizationId, app, appIds],
  );
  return rows[0] ?? fail('unknownApp');
}
