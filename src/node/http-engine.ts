// HTTP engine of this process.

import { type EngineChoice, type HttpEngine, loadEngine } from '../http/engine.ts';

/** Loads the engine that `HTTP_ENGINE` asks for. */
export function httpEngine(): Promise<HttpEngine> {
  // biome-ignore lint/style/noProcessEnv: until it is a setting.
  return loadEngine((process.env.HTTP_ENGINE as EngineChoice | undefined) ?? 'auto');
}
