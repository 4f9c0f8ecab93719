// SQL of links to recipients of mail who are no members: how one is stored, and found while it can be used.

import type { OfferedMail } from '../../../contract/notification.ts';
import { isStorable } from '../../../contract/text.ts';
import type { RecipientLink } from '../../destination-ledger.ts';
import type { ActorSql } from '../change/atomically.ts';
import { ORGANIZATION_JSON } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';
import { insertMail } from './deliveries.ts';

/** Returns whether an address is that of a member. */
export async function isMemberEmail(
  sql: Sql,
  organizationId: string,
  email: string,
): Promise<boolean> {
  if (!isStorable(organizationId, email)) return false;
  const rows = await sql.query(
    `SELECT FROM memberships JOIN accounts ON accounts.id = memberships.account_id
     WHERE memberships.organization_id = $1 AND accounts.email = $2`,
    [organizationId, email],
  );
  return rows.length > 0;
}

/** Stores the link of a destination, and its mail. */
export async function storeLink(
  sql: ActorSql,
  id: string,
  { hash, to, expiresAt, mail }: RecipientLink,
): Promise<void> {
  await sql.query(
    `UPDATE notification_destinations SET link_hash = $2, link_to = $3,
       link_expires_at = $4::timestamptz, confirmed_to = NULL, declined_to = NULL
     WHERE id = $1`,
    [id, hash, to, expiresAt],
  );
  await insertMail(sql, mail);
}

/**
 * Condition of a link ($1 its hash, $2 the time) that can be used: to confirm until its end, and afterwards
 * to stop the mails that it has confirmed.
 */
export const IS_USABLE = `link_hash = $1 AND link_to = mail_to AND declined_to IS DISTINCT FROM mail_to
  AND (confirmed_to = mail_to OR link_expires_at > $2::timestamptz)`;

/** Finds the organization and the address of a usable link by its hash. */
export async function findRecipientLink(
  sql: Sql,
  hash: string,
  at: string,
): Promise<OfferedMail | undefined> {
  const rows = await sql.query<OfferedMail>(
    `SELECT ${ORGANIZATION_JSON} AS organization, mail_to AS to,
       coalesce(confirmed_to = mail_to, false) AS "isConfirmed"
     FROM notification_destinations
     JOIN organizations ON organizations.id = notification_destinations.organization_id
     WHERE ${IS_USABLE}`,
    [hash, at],
  );
  return rows[0];
}
