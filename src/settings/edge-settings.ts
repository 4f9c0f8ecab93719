// Settings of an edge: those of a node without its stores.

import { HTTP_SCHEMES, isUrl } from './address.ts';
import { type Config, ConfigError, type EdgeSettings, readAnyConfig } from './settings.ts';

export type EdgeConfig = Config & {
  readonly edge: EdgeSettings & { upstream: string; token: string };
};

/** Settings of stores, which an edge does not have. */
const NOT_OF_EDGES = {
  databaseUrl: 'DATABASE_URL',
  redisUrl: 'REDIS_URL',
} as const satisfies Partial<Record<keyof Config, string>>;

/** Settings with an upstream, with or without a token for it. */
export type UpstreamConfig = Config & { readonly edge: EdgeSettings & { upstream: string } };

/**
 * Reads the settings; `upstream` overrides EDGE_UPSTREAM. Throws a `ConfigError` for a setting that is
 * missing or wrong, or that an edge cannot fulfil.
 */
export function readEdgeConfig(upstream?: string, environment?: NodeJS.ProcessEnv): EdgeConfig {
  const config = readUpstreamConfig(upstream, environment);
  if (config === undefined) {
    throw new ConfigError('EDGE_UPSTREAM: name the service to follow, here or with --upstream');
  }
  const { token } = config.edge;
  if (token === undefined) {
    throw new ConfigError('EDGE_TOKEN: an edge needs one: see `sluice edge-token create`');
  }
  return Object.freeze({ ...config, edge: { ...config.edge, token } });
}

/**
 * Reads the settings like `readEdgeConfig`, but the token may be missing. Returns undefined if they name no
 * upstream: then they are not those of an edge.
 */
export function readUpstreamConfig(
  upstream?: string,
  environment?: NodeJS.ProcessEnv,
): UpstreamConfig | undefined {
  const config = readAnyConfig(environment);
  if (upstream !== undefined && !isUrl(upstream, HTTP_SCHEMES)) {
    throw new ConfigError('--upstream: must be an http:// or https:// address');
  }
  const address = upstream?.replace(/\/+$/, '') ?? config.edge.upstream;
  if (address === undefined) return undefined;
  if (config.workers > 1) {
    throw new ConfigError('WORKERS: an edge is one process: run more edges for more cores');
  }
  for (const [name, variable] of Object.entries(NOT_OF_EDGES)) {
    if (config[name as keyof typeof NOT_OF_EDGES] === undefined) continue;
    throw new ConfigError(`${variable}: an edge has no stores: run it without`);
  }
  return Object.freeze({ ...config, edge: { ...config.edge, upstream: address } });
}
