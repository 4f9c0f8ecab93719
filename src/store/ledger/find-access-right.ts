// Statement that reads the role of an account in the organization that a target belongs to.

import { fail, type Outcome } from '../../contract/failure.ts';
import { isStorable } from '../../contract/text.ts';
import type { AccessRight, AccessTarget, UnknownTarget } from '../account-ledger.ts';
import { ROLE_OF } from './columns.ts';
import type { Sql } from './database.ts';

/**
 * Tables that lead from a target to its organization, the target's id column, and the refusal if it is
 * unknown.
 */
type TargetTable = { readonly from: string; readonly id: string; readonly unknown: UnknownTarget };

const TARGET_TABLES: Readonly<Record<AccessTarget['type'], TargetTable>> = {
  organization: { from: 'organizations', id: 'organizations.id', unknown: 'unknownOrganization' },
  key: {
    from: 'api_keys JOIN organizations ON organizations.id = api_keys.organization_id',
    id: 'api_keys.id',
    unknown: 'unknownKey',
  },
  invitation: {
    from: 'invitations JOIN organizations ON organizations.id = invitations.organization_id',
    id: 'invitations.id',
    unknown: 'unknownInvitation',
  },
};

/**
 * Reads the role afresh with every call: it is never cached. A target of an organization that the account is
 * no member of is refused as unknown.
 */
export async function findAccessRight(
  sql: Sql,
  accountId: string | undefined,
  { type, id }: AccessTarget,
): Promise<Outcome<AccessRight, UnknownTarget>> {
  const table = TARGET_TABLES[type];
  if (!isStorable(id)) return fail(table.unknown);
  const rows = await sql.query<AccessRight>(
    `SELECT organizations.id AS "organizationId", ${ROLE_OF.role} AS role
     FROM ${table.from} ${ROLE_OF.join}
     WHERE ${table.id} = $2 AND ${ROLE_OF.isVisible}`,
    [accountId ?? null, id],
  );
  return rows[0] ?? fail(table.unknown);
}
