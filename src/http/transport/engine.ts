// HTTP engines, of which a process uses one: uWebSockets.js where its binary loads, else Node's own server.

import type { HttpApp } from './http-app.ts';
import { canSharePort, openNodeApp } from './node-app.ts';
import { loadUws } from './uws-app.ts';

export type EngineName = 'uws' | 'node';
/** Engine that is asked for; `auto` leaves it to the machine. */
export type EngineChoice = 'auto' | EngineName;

export type HttpEngine = {
  readonly name: EngineName;
  /** Why it is this one, in words. */
  readonly reason: string;
  /** Whether several processes can listen on one port. */
  readonly canSharePort: boolean;
  /** Opens an application, which serves nothing yet. */
  openApp(): HttpApp;
};

/**
 * Loads the engine that is asked for; `auto` takes uWebSockets.js where its binary loads. Rejects, in a
 * sentence, when it is uWebSockets.js that is asked for and its binary does not load.
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

/** Returns why the package does not load, in whose message a paragraph of its own comes first. */
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
