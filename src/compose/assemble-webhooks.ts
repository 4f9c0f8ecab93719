// Assembly of the administration of webhooks.

import type { Config } from '../config.ts';
import type { RareLog } from '../observe/rare-log.ts';
import { SecretBox } from '../operations/publishing/secret-box.ts';
import { Webhooks } from '../operations/publishing/webhooks.ts';
import type { Ledger } from '../ports/ledger.ts';
import { generatedSecret } from './generated-secret.ts';

/** Builds it. `address` returns the base URL of the service, to which code hosts send. */
export function assembleWebhooks(
  config: Config,
  ledger: Ledger,
  address: () => string,
  log: RareLog,
): Webhooks {
  return new Webhooks({ ledger, box: secretBox(config), address, log });
}

/**
 * Builds the box for webhook secrets; undefined without a secret key, in which case webhooks cannot be
 * enabled.
 */
function secretBox(config: Config): SecretBox | undefined {
  const secretKey = generatedSecret(config, config.secretKey, 'secret-key');
  return secretKey === undefined ? undefined : new SecretBox(secretKey);
}
