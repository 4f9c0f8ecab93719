// An entry of the audit as the contract writes it, for the row of `audit_entries AS entry` at hand.

import { isoText } from './iso-text.ts';

export const AUDIT_COLUMNS = `entry.id::text AS id, ${isoText('entry.at')} AS at, actor, action, subject,
  before, after`;
