// Settings of `sluice move`: those of the service that is moved, with the address that it is moved to.

import { type Config, ConfigError, readConfig } from './settings.ts';

export type MoveConfig = Config & { readonly databaseUrl: string };

/**
 * Reads the settings; `to`, if given, replaces DATABASE_URL. Returns undefined if neither names an address.
 * Throws a `ConfigError` for a wrong setting.
 */
export function readMoveConfig(
  to?: string,
  environment: NodeJS.ProcessEnv = process.env,
): MoveConfig | undefined {
  const config = to === undefined ? readConfig(environment) : readTo(to, environment);
  const { databaseUrl } = config;
  return databaseUrl === undefined ? undefined : Object.freeze({ ...config, databaseUrl });
}

function readTo(to: string, { DATABASE_URL_FILE: _, ...environment }: NodeJS.ProcessEnv): Config {
  try {
    return readConfig({ ...environment, DATABASE_URL: to });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(error.message.replace(/^DATABASE_URL:/, '--to:'));
  }
}
