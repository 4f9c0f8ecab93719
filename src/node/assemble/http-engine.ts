// The HTTP engine of a node. The process that an operator starts chooses it and logs its name. The processes
// that this one starts get the name, so that all of a node serve with the same engine.

import { type Check, faulty, sound } from '../../contract/store-fault.ts';
import { type HttpEngine, loadEngine } from '../../http/transport/engine.ts';
import type { Log } from '../../observe/log.ts';
import { type Config, ConfigError } from '../../settings/settings.ts';

const COST = 'a check costs about twice the processor time';
const FASTER =
  'Node 22 on Linux with glibc has the faster one: docs/operating/install.md#http-engines';

type EngineSettings = Pick<Config, 'httpEngine' | 'workers'>;

/**
 * Loads the engine that the settings ask for. Rejects with a `ConfigError` when its binary does not load, or
 * when it cannot do what `WORKERS` asks for.
 */
export async function chooseHttpEngine(
  { httpEngine, workers }: EngineSettings,
  load = loadEngine,
): Promise<HttpEngine> {
  const engine = await load(httpEngine).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    const remedy = 'take Node 22 on Linux with glibc, or HTTP_ENGINE=auto';
    throw new ConfigError(`HTTP_ENGINE: ${reason}: ${remedy}`, { cause: error });
  });
  if (workers > 1 && !engine.canSharePort) {
    throw new ConfigError(
      'WORKERS: more than 1 needs an HTTP engine that can share a port, and that of Node ' +
        `${process.versions.node} on ${process.platform} cannot: take Node 22.12 or later on Linux, ` +
        'or WORKERS=1 and several nodes behind a proxy',
    );
  }
  return engine;
}

/** What a slower engine costs, and how to get the faster one, unless the settings ask for the slower one. */
type Cost = { readonly cost?: string; readonly faster?: string };

/** Returns what the engine costs compared with the faster one; nothing for the faster one. */
export function costOf(
  { name }: HttpEngine,
  { httpEngine }: Pick<EngineSettings, 'httpEngine'>,
): Cost {
  if (name === 'uws') return {};
  return httpEngine === 'auto' ? { cost: COST, faster: FASTER } : { cost: COST };
}

/** Logs which engine serves, why, and what it costs. Not as a warning: the service works with either. */
export function tellHttpEngine(engine: HttpEngine, settings: EngineSettings, log: Log): void {
  const { name, reason } = engine;
  log.info({ engine: name, reason, ...costOf(engine, settings) }, 'HTTP engine chosen');
}

/** Examines the engine that a start would choose. */
export async function examineHttpEngine(
  settings: EngineSettings,
  load = loadEngine,
): Promise<Check> {
  try {
    const engine = await chooseHttpEngine(settings, load);
    const { cost, faster } = costOf(engine, settings);
    const parts = [`${engine.name}, because ${engine.reason}`, cost, faster];
    return sound('http-engine', parts.filter((part) => part !== undefined).join('; '));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return faulty('http-engine', error.message);
  }
}
