// What an account may do with an app.

import { fail, type Outcome } from '../../contract/failure.ts';
import type { AppStanding } from '../../ports/account-ledger.ts';
import type { Sql } from '../database.ts';
import { isStorable } from './is-storable.ts';
import { ROLE_OF } from './role-of.ts';

/** One read, by ref or id; an app of an organization that the account is no member of is unknown. */
export async function findAppStanding(
  sql: Sql,
  accountId: string | undefined,
  app: string,
): Promise<Outcome<AppStanding>> {
  if (!isStorable(app)) return fail('unknownApp');
  const rows = await sql.query<AppStanding>(
    `SELECT organizations.id AS "organizationId", ${ROLE_OF.role} AS role,
       json_build_object('id', apps.id, 'ref', apps.ref, 'name', apps.name) AS app
     FROM apps JOIN organizations ON organizations.id = apps.organization_id ${ROLE_OF.join}
     WHERE (apps.ref = $2 OR apps.id = $2) AND ${ROLE_OF.isVisible}
     ORDER BY (apps.ref = $2) DESC LIMIT 1`,
    [accountId ?? null, app],
  );
  return rows[0] ?? fail('unknownApp');
}
