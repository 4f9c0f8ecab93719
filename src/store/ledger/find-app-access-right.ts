// Statement that reads the role of an account in the organization that an app belongs to.

import { fail, type Outcome } from '../../contract/failure.ts';
import { isStorable } from '../../contract/text.ts';
import type { AppAccessRight } from '../account-ledger.ts';
import { ROLE_OF } from './columns.ts';
import type { Sql } from './database.ts';

/**
 * Finds the app by ref or id; a ref goes first where both match. An app of an organization that the account
 * is no member of is refused as unknown.
 */
export async function findAppAccessRight(
  sql: Sql,
  accountId: string | undefined,
  app: string,
): Promise<Outcome<AppAccessRight, 'unknownApp'>> {
  if (!isStorable(app)) return fail('unknownApp');
  const rows = await sql.query<AppAccessRight>(
    `SELECT organizations.id AS "organizationId", ${ROLE_OF.role} AS role,
       json_build_object('id', apps.id, 'ref', apps.ref, 'name', apps.name) AS app
     FROM apps JOIN organizations ON organizations.id = apps.organization_id ${ROLE_OF.join}
     WHERE (apps.ref = $2 OR apps.id = $2) AND ${ROLE_OF.isVisible}
     ORDER BY (apps.ref = $2) DESC LIMIT 1`,
    [accountId ?? null, app],
  );
  return rows[0] ?? fail('unknownApp');
}
