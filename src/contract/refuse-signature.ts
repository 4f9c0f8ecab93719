// Refusal of a webhook delivery that its code host has not signed, or not with the present secret.

import { type Failure, fail } from './failure.ts';
import { SIGNATURE_HEADERS, type WebhookProvider } from './webhook-provider.ts';

/** Builds the refusal, which names the header in which this code host sends its signature. */
export function refuseSignature(provider: WebhookProvider): Failure<'badSignature'> {
  return fail('badSignature', `Missing or wrong ${SIGNATURE_HEADERS[provider]}`);
}
