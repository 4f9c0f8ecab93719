// What of a run's environment reaches the programs that its tests start: where programs are, and the HTTP
// engine that the run is asked to prove. Everything else a test says itself.

import { type EngineChoice, type HttpEngine, loadEngine } from '../../src/http/transport/engine.ts';

/** Returns the environment that every program of the service starts from. */
export function baseEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HTTP_ENGINE } = process.env;
  return HTTP_ENGINE === undefined ? { PATH } : { PATH, HTTP_ENGINE };
}

/** Returns the HTTP engine that the run's programs use. */
export function engineOfRun(): Promise<HttpEngine> {
  return loadEngine((process.env.HTTP_ENGINE ?? 'auto') as EngineChoice);
}
