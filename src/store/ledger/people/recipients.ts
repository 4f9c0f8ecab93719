// SQL of the use of links to recipients of mail who are no members: sending another one, and the answer.

import { fail, invalidField, isFailure, type Outcome } from '../../../contract/failure.ts';
import type { Destination } from '../../../contract/notification.ts';
import type { RecipientLink } from '../../destination-ledger.ts';
import type { Actor } from '../../ledger-terms.ts';
import { type ActorSql, atomically } from '../change/atomically.ts';
import { insertAudit } from '../change/audit.ts';
import type { Database } from '../database/database.ts';
import {
  auditState,
  demandDestination,
  dropWaiting,
  type LockedDestination,
  lockDestination,
} from './destinations.ts';
import { IS_USABLE, storeLink } from './recipient-links.ts';

/** Stores another link for the recipient of a destination, and mails it; the former link ends. */
export function renewRecipientLink(
  database: Database,
  id: string,
  link: RecipientLink,
  actor: Actor,
): Promise<Outcome<Destination>> {
  return atomically(database, actor, async (sql) => {
    const found = await lockDestination(sql, id);
    if (isFailure(found)) return found;
    // The link was made for an address that the destination no longer has.
    if (found.to !== link.to) return invalidField('to', 'Was changed meanwhile');
    if (found.recipient === 'member' || found.recipient === 'confirmed') {
      return fail('recipientKnown');
    }
    await storeLink(sql, id, link);
    await insertAudit(sql, {
      ...{ organizationId: found.organizationId, action: 'destination.link', subject: id },
      ...{ before: null, after: { to: link.to, expiresAt: link.expiresAt } },
    });
    return demandDestination(sql, id);
  });
}

/** Stores whether the holder of a link wants the mails; if not, drops those that wait. */
export function answerRecipientLink(
  database: Database,
  hash: string,
  wanted: boolean,
  at: string,
): Promise<Outcome<true>> {
  return atomically(database, { kind: 'stranger' }, async (sql) => {
    const [linked] = await sql.query<{ id: string }>(
      `SELECT id FROM notification_destinations WHERE ${IS_USABLE} FOR NO KEY UPDATE`,
      [hash, at],
    );
    const found = linked && (await lockDestination(sql, linked.id));
    if (found === undefined || isFailure(found)) return fail('unknownLink');
    if (wanted && found.recipient === 'confirmed') return true as const;
    await answer(sql, found, wanted);
    return true as const;
  });
}

async function answer(sql: ActorSql, found: LockedDestination, wanted: boolean): Promise<void> {
  const { id, organizationId } = found;
  await sql.query(
    `UPDATE notification_destinations SET confirmed_to = CASE WHEN $2 THEN mail_to END,
       declined_to = CASE WHEN $2 THEN NULL ELSE mail_to END
     WHERE id = $1`,
    [id, wanted],
  );
  if (!wanted) await dropWaiting(sql, id);
  const action = wanted ? 'destination.confirm' : 'destination.decline';
  const after = { ...auditState(found), recipient: wanted ? 'confirmed' : 'declined' };
  await insertAudit(sql, {
    ...{ organizationId, action, subject: id, after },
    before: { ...auditState(found), recipient: found.recipient },
  });
}
