// SQL of links that work once: invitations, links to a new password and from lost passkeys, and arrivals that
// are still to be proved. They are one table with a partition for each kind, with the name, the keys and the
// defaults that nodes of version 0.3.0 use. This file has what all kinds share; what a link does is in the
// file of its noun.

import type { Role } from '../../../contract/resource.ts';
import type { GroupRole, LinkKind, LinkOffers, NewLink } from '../../account-ledger.ts';
import { ORGANIZATION_JSON } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';

const ADDRESS = 'coalesce(link.email, accounts.email) AS email';

/** By kind: its partition, the columns that only one link may have, and the columns that a link shows. */
const KINDS: Readonly<Record<LinkKind, { part: string; oneOf: string; offer: string }>> = {
  reset: { part: 'password_resets', oneOf: 'account_id', offer: ADDRESS },
  recovery: { part: 'passkey_recoveries', oneOf: 'account_id', offer: ADDRESS },
  arrival: { part: 'oidc_arrivals', oneOf: 'issuer, subject', offer: ADDRESS },
  invitation: {
    part: 'invitations',
    oneOf: 'id',
    offer: `${ORGANIZATION_JSON} AS organization, link.role, ${ADDRESS}`,
  },
};

/** Condition of a link that can be used at $1. */
export const IS_OPEN = 'used_at IS NULL AND revoked_at IS NULL AND expires_at > $1::timestamptz';

type StoredLink = NewLink & {
  readonly id?: string;
  readonly organizationId?: string;
  readonly accountId?: string;
  readonly issuer?: string;
  readonly subject?: string;
  readonly email?: string;
  readonly role?: Role;
  readonly roles?: readonly GroupRole[];
  readonly createdBy?: string;
};

/** Stores a link with only the hash of its token; replaces the earlier link with the same `oneOf` columns. */
export async function storeLink(sql: Sql, kind: LinkKind, link: StoredLink): Promise<void> {
  const { part, oneOf } = KINDS[kind];
  const { id, organizationId, accountId, issuer, subject, tokenHash } = link;
  const { email, role, roles, createdBy, at, expiresAt } = link;
  await sql.query(
    `INSERT INTO ${part} (id, organization_id, account_id, issuer, subject, token_hash, email, role, roles,
       created_by, created_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::timestamptz, $12::timestamptz)
     ON CONFLICT (${oneOf}) DO UPDATE SET token_hash = excluded.token_hash, email = excluded.email,
       roles = excluded.roles, created_at = excluded.created_at, expires_at = excluded.expires_at`,
    [
      ...[id, organizationId, accountId, issuer, subject, tokenHash, email, role],
      ...[roles && JSON.stringify(roles), createdBy, at, expiresAt],
    ],
  );
}

/** Returns what a link shows, by its token's hash; undefined unless it can be used at `now`. */
export async function findLink<Kind extends LinkKind>(
  sql: Sql,
  kind: Kind,
  tokenHash: string,
  now: string,
): Promise<LinkOffers[Kind] | undefined> {
  const rows = await sql.query<LinkOffers[Kind]>(
    `SELECT ${KINDS[kind].offer} FROM one_time_links AS link
     LEFT JOIN accounts ON accounts.id = link.account_id
     LEFT JOIN organizations ON organizations.id = link.organization_id
     WHERE link.kind = $2 AND link.token_hash = $3 AND ${IS_OPEN}`,
    [now, kind, tokenHash],
  );
  return rows[0];
}

type UsedLink = Required<Pick<StoredLink, 'accountId' | 'issuer' | 'subject' | 'email' | 'roles'>>;

/**
 * Uses a link up by deleting it, so that only one of several concurrent calls finds it. The answer has only
 * the account of an account's link, and all fields but that of an arrival. Invitations are marked instead.
 */
export async function useLink(
  sql: Sql,
  kind: Exclude<LinkKind, 'invitation'>,
  tokenHash: string,
  now: string,
): Promise<UsedLink | undefined> {
  const rows = await sql.query<UsedLink>(
    `DELETE FROM one_time_links WHERE kind = $2 AND token_hash = $3 AND ${IS_OPEN}
     RETURNING account_id AS "accountId", issuer, subject, email, roles`,
    [now, kind, tokenHash],
  );
  return rows[0];
}
