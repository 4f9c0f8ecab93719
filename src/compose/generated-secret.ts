// Secrets that the service generates when no setting provides them.

import type { Config } from '../config.ts';
import { readOrCreateToken, type TokenName } from '../token-file.ts';

/**
 * Returns the configured secret, or with an embedded ledger one generated into the data directory; else
 * undefined.
 */
export function generatedSecret(
  config: Config,
  setting: string | undefined,
  name: TokenName,
): string | undefined {
  if (setting !== undefined) return setting;
  return config.databaseUrl === undefined ? readOrCreateToken(config.dataDir, name) : undefined;
}
