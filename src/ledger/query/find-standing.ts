// What an account may do where something lies.

import { type FailureKind, fail, type Outcome } from '../../contract/failure.ts';
import type { Standing, StandingTarget } from '../../ports/account-ledger.ts';
import type { Sql } from '../database.ts';
import { isStorable } from './is-storable.ts';
import { ROLE_OF } from './role-of.ts';

type Place = { readonly from: string; readonly id: string; readonly unknown: FailureKind };

const PLACES: Readonly<Record<StandingTarget['kind'], Place>> = {
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

/** One read, as of now: nothing of it is remembered. What belongs to others is unknown. */
export async function findStanding(
  sql: Sql,
  accountId: string | undefined,
  { kind, id }: StandingTarget,
): Promise<Outcome<Standing>> {
  const place = PLACES[kind];
  if (!isStorable(id)) return fail(place.unknown);
  const rows = await sql.query<Standing>(
    `SELECT organizations.id AS "organizationId", ${ROLE_OF.role} AS role
     FROM ${place.from} ${ROLE_OF.join}
     WHERE ${place.id} = $2 AND ${ROLE_OF.isVisible}`,
    [accountId ?? null, id],
  );
  return rows[0] ?? fail(place.unknown);
}
