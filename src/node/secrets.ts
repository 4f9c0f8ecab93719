// Secrets of the service as they are now: those of the settings, which an operator may change while it runs,
// or those that it generates where no setting provides them.

import { EdgeSigner } from '../edge/server/edge-tokens.ts';
import { SecretBox } from '../publishing/secret-box.ts';
import type { Config } from '../settings/settings.ts';
import { readOrCreateToken, type TokenName } from '../settings/token-file.ts';

export class Secrets {
  /** Box for webhook secrets; undefined without a secret key, in which case webhooks cannot be enabled. */
  readonly box: SecretBox | undefined;
  /** Signer of what edges follow; undefined without a secret key, in which case there can be none. */
  readonly signer: EdgeSigner | undefined;
  private tokens: readonly string[];

  constructor(config: Config) {
    this.tokens = orGenerated(config, config.adminTokens, 'admin-token');
    const keys = orGenerated(config, config.secretKeys, 'secret-key');
    this.box = keys.length === 0 ? undefined : new SecretBox(keys);
    this.signer = this.box && new EdgeSigner(this.box);
  }

  /** Admin tokens that are accepted; empty when there is none. */
  get adminTokens(): readonly string[] {
    return this.tokens;
  }

  /** Takes over the secrets of changed settings; resolves when they count. */
  async use(config: Config): Promise<void> {
    this.tokens = orGenerated(config, config.adminTokens, 'admin-token');
    await this.box?.use(orGenerated(config, config.secretKeys, 'secret-key'));
  }
}

/** Returns the configured values, or with an embedded ledger one generated into the data directory. */
function orGenerated(
  { databaseUrl, dataDir }: Config,
  values: readonly string[],
  name: TokenName,
): readonly string[] {
  if (values.length > 0 || databaseUrl !== undefined) return values;
  return [readOrCreateToken(dataDir, name)];
}
