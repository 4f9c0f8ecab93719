// Secrets that nobody has set.

import type { Config } from '../config.ts';
import { readOrCreateToken, type TokenName } from '../token-file.ts';

/** With an embedded ledger the service is somebody's own machine, so it makes its own tokens. */
export function generatedUnless(
  config: Config,
  setting: string | undefined,
  name: TokenName,
): string | undefined {
  if (setting !== undefined) return setting;
  return config.databaseUrl === undefined ? readOrCreateToken(config.dataDir, name) : undefined;
}
