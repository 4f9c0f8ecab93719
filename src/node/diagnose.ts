// The command `sluice doctor`: examines the settings, the data directory and the stores that they name, with
// short time limits, and changes nothing.

import { type Check, type Diagnosis, faulty, sound } from '../contract/diagnosis.ts';
import { readUpstreamConfig, type UpstreamConfig } from '../settings/edge-settings.ts';
import { type Config, ConfigError, readConfig, readNearSettings } from '../settings/settings.ts';
import { examineEmbedded } from '../store/ledger/examine-embedded.ts';
import { examinePostgres } from '../store/ledger/examine-ledger.ts';
import { examineRedis } from '../store/redis/examine-redis.ts';
import { examineDataDirectory } from './doctor.ts';
import { examineEdge } from './examine-edge.ts';
import { examineSettings } from './examine-settings.ts';

/**
 * Examines what the environment names; `upstream` takes the place of EDGE_UPSTREAM, as at the start of an
 * edge. Never rejects for what it finds.
 */
export async function diagnose(
  upstream?: string,
  environment?: NodeJS.ProcessEnv,
): Promise<Diagnosis> {
  try {
    const edge = readUpstreamConfig(upstream, environment);
    const checks = edge === undefined ? await ofNode(environment) : await ofEdge(edge);
    return { checks: [settingsCheck(environment), ...checks] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { checks: [faulty('settings', error.message)] };
  }
}

function settingsCheck(environment?: NodeJS.ProcessEnv): Check {
  const near = readNearSettings(environment).map(({ name, setting }) => `${name} (${setting}?)`);
  if (near.length === 0) return sound('settings', 'can be read');
  const names = near.join(', ');
  return sound('settings', `can be read; these look like settings and are not: ${names}`);
}

async function ofEdge(config: UpstreamConfig): Promise<readonly Check[]> {
  return [examineDataDirectory(config.dataDir), ...(await examineEdge(config.edge))];
}

async function ofNode(environment?: NodeJS.ProcessEnv): Promise<readonly Check[]> {
  const config = readConfig(environment);
  const [ledger, redis] = await Promise.all([examineLedger(config), examineEngine(config)]);
  const directory = examineDataDirectory(config.dataDir);
  return [...examineSettings(config), directory, ...ledger, ...redis];
}

async function examineLedger(config: Config): Promise<readonly Check[]> {
  const { databaseUrl: url, dataDir } = config;
  if (url === undefined) return examineEmbedded(dataDir);
  const connections = config.databasePool * processesOf(config);
  return tried('ledger', 'DATABASE_URL', () => examinePostgres({ url, connections }));
}

async function examineEngine({ redisUrl, redisPrefix }: Config): Promise<readonly Check[]> {
  if (redisUrl === undefined) return [sound('redis', 'none: the hot state is in the process')];
  return tried('redis', 'REDIS_URL', () => examineRedis({ url: redisUrl, prefix: redisPrefix }));
}

/** Turns the error of an address that cannot be used at all, which quotes nothing of it, into a check. */
async function tried(
  name: string,
  variable: string,
  examine: () => Promise<readonly Check[]>,
): Promise<readonly Check[]> {
  try {
    return await examine();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [faulty(name, `${variable}: ${reason}`)];
  }
}

/** Returns how many processes of a node have connections to PostgreSQL. */
function processesOf({ workers, redisUrl, adminListen }: Config): number {
  if (redisUrl === undefined) return 1;
  return workers + 1 + (adminListen === undefined ? 0 : 1);
}
