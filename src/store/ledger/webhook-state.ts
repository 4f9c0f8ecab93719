// State of a webhook as the audit shows it, and what a change of its settings makes of them.

import { invalidField, type Outcome } from '../../contract/failure.ts';
import type { Webhook, WebhookSettings } from '../../contract/resource.ts';
import type { WebhookChange } from '../webhook-ledger.ts';

/** Returns what an audit entry says of a webhook. */
export function webhookState({ provider, enabled, tagPrefix, hold, expect }: Webhook): object {
  return { provider, enabled, tagPrefix, hold, expect };
}

/** Settings of a webhook that was never given any. */
export const NO_SETTINGS: WebhookSettings = { tagPrefix: null, hold: false, expect: null };

/**
 * Returns the settings after a change. Releases that are not held expect nothing: to end the holding ends
 * that as well, and targets without it are refused.
 */
export function changeSettings(
  before: WebhookSettings,
  change: WebhookChange,
): Outcome<WebhookSettings, 'invalid'> {
  const hold = change.hold ?? before.hold;
  const kept = hold ? before.expect : null;
  const expect = change.expect === undefined ? kept : change.expect;
  if (expect !== null && !hold) return invalidField('expect', 'Only with hold');
  const tagPrefix = change.tagPrefix === undefined ? before.tagPrefix : change.tagPrefix;
  return { tagPrefix, hold, expect };
}
