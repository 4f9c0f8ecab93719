// Declares suites on the two set-ups of the service, embedded and on real stores. Where the stores can
// matter, a suite runs unchanged on both.

import { describe, inject } from 'vitest';
import { type NodeSettings, type ServingNode, startNode } from './node.ts';
import { startNodeOnReal } from './real-node.ts';

export type Backend = {
  readonly name: 'embedded' | 'PostgreSQL and Redis';
  /** Starts a node with stores of its own; `dispose` ends both. */
  start(settings?: NodeSettings): Promise<ServingNode>;
};

const NO_STORES = '(skipped: no PostgreSQL or no Redis on this machine)';

const embedded: Backend = { name: 'embedded', start: startNode };

/** Runs a suite against the embedded set-up and against the real stores, as far as they are there. */
export function describeOnBackends(title: string, suite: (backend: Backend) => void): void {
  describe(`${title} (embedded)`, () => suite(embedded));
  const real = realBackend();
  if (real === undefined) {
    // biome-ignore lint/suspicious/noSkippedTests: the title tells what is missing on this machine.
    describe.skip(`${title} ${NO_STORES}`, () => suite(embedded));
    return;
  }
  describe(`${title} (${real.name})`, () => suite(real));
}

/**
 * Runs a suite against one set-up, for rules that no store can change: on the real stores when there are any,
 * else embedded.
 */
export function describeOnOneBackend(title: string, suite: (backend: Backend) => void): void {
  const backend = realBackend() ?? embedded;
  describe(`${title} (${backend.name})`, () => suite(backend));
}

/** Runs a suite that needs the real stores, or skips it and says why. */
export function describeOnRealStores(title: string, suite: () => void): void {
  if (realStores() === undefined) describe.skip(`${title} ${NO_STORES}`, suite);
  else describe(title, suite);
}

/** Returns the run's real stores, or undefined when one of them is missing. */
export function realStores(): { postgresUrl: string; redisUrl: string } | undefined {
  const postgresUrl = inject('postgresUrl');
  const redisUrl = inject('redisUrl');
  return postgresUrl === '' || redisUrl === '' ? undefined : { postgresUrl, redisUrl };
}

/** The set-up on real stores; undefined when one of the stores is missing. */
function realBackend(): Backend | undefined {
  const stores = realStores();
  if (stores === undefined) return undefined;
  return {
    name: 'PostgreSQL and Redis',
    start: (settings) => startNodeOnReal(stores.postgresUrl, settings),
  };
}
