// HTTP engines, of which a process uses one: uWebSockets.js if its binary loads, else Node's own server.

import type { HttpApp } from './http-app.ts';
import { canSharePort, openNodeApp } from './node-app.ts';
import { loadUws } from './uws-app.ts';

export type EngineName = 'uws' | 'node';
/** Engine that the setting HTTP_ENGINE asks for; `auto`: uWebSockets.js if its binary loads. */
export type EngineChoice = 'auto' | EngineName;

export type HttpEngine = {
  readonly name: EngineName;
  /** Why the process uses this engine, in words. */
  readonly reason: string;
  /** Whether several processes can listen on one port. */
  readonly canSharePort: boolean;
  /** Opens an application without routes. */
  openApp(): HttpApp;
};

/**
 * Loads the chosen engine. Rejects, with a sentence, if uWebSockets.js itself is chosen and does not load;
 * with `auto` the process uses Node's server then.
 */
export async function loadEngine(choice: EngineChoice): Promise<HttpEngine> {
  if (choice === 'node') return nodeEngine('HTTP_ENGINE asks for it');
  try {
    const openApp = await loadUws();
    const reason =
      choice === 'uws' ? 'HTTP_ENGINE asks for it' : `it has a binary for ${machine()}`;
    return { name: 'uws', reason, canSharePort: true, openApp };
  } catch (error) {
    const reason = `uWebSockets.js ${faultIn(error)}`;
    if (choice === 'uws') throw new Error(reason);
    return nodeEngine(reason);
  }
}

async function nodeEngine(reason: string): Promise<HttpEngine> {
  return { name: 'node', reason, canSharePort: await canSharePort(), openApp: openNodeApp };
}

function machine(): string {
  const { version, versions, platform, arch } = process;
  return `Node ${version.slice(1)} (ABI ${versions.modules}) on ${platform} ${arch}`;
}

/** Returns why the package does not load; in its error message, a paragraph of advice comes first. */
function faultIn(error: unknown): string {
  const { message } = error as Error;
  const [line = ''] = message
    .slice(message.lastIndexOf('\n\n') + 1)
    .trim()
    .split('\n');
  const fault = line.replace(/^Error: /, '');
  return /^Cannot find module '\.\/bin\//.test(fault)
    ? `has no binary for ${machine()}`
    : `does not load with ${machine()}: ${fault}`;
}
