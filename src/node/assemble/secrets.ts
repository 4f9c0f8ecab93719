// Present secrets of the service: from the settings, which an operator may change at run time, or generated.

import { EdgeSigner } from '../../edge/server/edge-tokens.ts';
import { SecretBox } from '../../notify/secret-box.ts';
import type { Config } from '../../settings/settings.ts';
import { readOrCreateToken, type TokenName } from '../../settings/token-file.ts';
import { hasMoveMark } from '../../store/ledger/database/move-mark.ts';
import { directoryIn } from '../../store/ledger/open-ledger.ts';

export class Secrets {
  /** Box that seals webhook secrets; undefined without a secret key: then webhooks cannot be enabled. */
  readonly box: SecretBox | undefined;
  /** Signer of answers to edges; undefined without a secret key: then edges cannot follow. */
  readonly signer: EdgeSigner | undefined;
  private tokens: readonly string[];

  constructor(config: Config) {
    this.tokens = orGenerated(config, config.adminTokens, 'admin-token');
    const keys = orGenerated(config, config.secretKeys, 'secret-key');
    this.box = keys.length === 0 ? undefined : new SecretBox(keys);
    this.signer = this.box && new EdgeSigner(this.box);
  }

  /** Accepted admin tokens; may be empty. */
  get adminTokens(): readonly string[] {
    return this.tokens;
  }

  /** Uses the secrets of changed settings; resolves when they apply. */
  async use(config: Config): Promise<void> {
    this.tokens = orGenerated(config, config.adminTokens, 'admin-token');
    await this.box?.use(orGenerated(config, config.secretKeys, 'secret-key'));
  }
}

/**
 * Whether secrets that no setting provides are in the data directory: with an embedded ledger, and with one
 * that was moved from there, whose sealed secrets need the same key.
 */
export function hasOwnSecrets({ databaseUrl, dataDir }: Config): boolean {
  return databaseUrl === undefined || hasMoveMark(directoryIn(dataDir));
}

/** Returns the configured values, or else the one generated into the data directory if it has secrets. */
function orGenerated(
  config: Config,
  values: readonly string[],
  name: TokenName,
): readonly string[] {
  if (values.length > 0 || !hasOwnSecrets(config)) return values;
  return [readOrCreateToken(config.dataDir, name)];
}
