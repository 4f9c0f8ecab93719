// A webhook as it may be shown: never its secret, not even sealed.

import { isoText } from './iso-text.ts';

/** The columns of `Webhook`, for a row of `webhooks`. */
export const WEBHOOK_COLUMNS = `provider, disabled_at IS NULL AS enabled,
  ${isoText('created_at')} AS "createdAt"`;
