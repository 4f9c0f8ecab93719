// A member as the contract writes it, for the rows of `memberships` and `accounts` at hand.

import { isoText } from './iso-text.ts';

export const MEMBER_COLUMNS = `
  json_build_object('id', accounts.id, 'email', accounts.email, 'name', accounts.name) AS account,
  memberships.role, ${isoText('memberships.created_at')} AS since`;
