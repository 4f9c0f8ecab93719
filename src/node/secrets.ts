// Present secrets of the service: from the settings, which an operator may change at run time, or generated.

import { EdgeSigner } from '../edge/server/edge-tokens.ts';
import { SecretBox } from '../publishing/secret-box.ts';
import type { Config } from '../settings/settings.ts';
import { readOrCreateToken, type TokenName } from '../settings/token-file.ts';

export class Secrets {
  /** Box for webhook secrets; undefined without a secret key, and then webhooks cannot be enabled. */
  readonly box: SecretBox | undefined;
  /** Signer of answers to edges; undefined without a secret key, and then there can be no edges. */
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

/** Returns the configured values; with an embedded ledger and none configured, one generated in DATA_DIR. */
function orGenerated(
  { databaseUrl, dataDir }: Config,
  values: readonly string[],
  name: TokenName,
): readonly string[] {
  if (values.length > 0 || databaseUrl !== undefined) return values;
  return [readOrCreateToken(dataDir, name)];
}
