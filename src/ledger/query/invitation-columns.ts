// An invitation as the contract writes it, for the row of `invitations` at hand.

import { isoText } from './iso-text.ts';

export const INVITATION_COLUMNS = `invitations.id, invitations.email, invitations.role,
  ${isoText('invitations.expires_at')} AS "expiresAt", invitations.created_by AS "createdBy"`;

/** Whether it can be used at $1. */
export const IS_OPEN = `invitations.used_at IS NULL AND invitations.revoked_at IS NULL
  AND invitations.expires_at > $1::timestamptz`;
