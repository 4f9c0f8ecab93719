// Refusal of a webhook delivery that its code host did not sign with the present secret.

import { type Failure, fail } from './failure.ts';
import { SIGNATURE_HEADERS, type WebhookProvider } from './webhook-provider.ts';

/** Builds the refusal, which names this code host's signature header. */
export function refuseSignature(provider: WebhookProvider): Failure<'badSignature'> {
  return fail('badSignature', `Missing or wrong ${SIGNATURE_HEADERS[provider]}`);
}
