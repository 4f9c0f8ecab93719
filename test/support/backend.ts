// Declares suites whose nodes have settings and stores of their own. matrix.ts says on which set-ups a suite
// runs.

import { afterAll, beforeAll, describe, inject } from 'vitest';
import { FULL_ONLY, IS_FULL } from './full-run.ts';
import { type SetUp, setUpsOf } from './matrix.ts';
import { type NodeSettings, type ServingNode, startNode } from './node.ts';
import { startNodeOnReal } from './real-node.ts';

export type Backend = {
  readonly name: Exclude<SetUp, 'edge'>;
  /** Starts a node with stores of its own; `dispose` ends both. */
  start(settings?: NodeSettings): Promise<ServingNode>;
};

const NO_STORES = '(skipped: no PostgreSQL or no Redis on this machine)';

/** Runs a suite on the best set-up, embedded, or both where the matrix says so. */
export function describeOnBackends(title: string, suite: (backend: Backend) => void): void {
  const stores = realStores();
  for (const setUp of setUpsOf(title, ['PostgreSQL and Redis', 'embedded'], stores !== undefined)) {
    describe(`${title} (${setUp})`, () => suite(backendOf(setUp, stores?.postgresUrl)));
  }
}

/** Starts a node of its own on the best set-up, for a suite that has no use for another one. */
export function startOwnNode(settings?: NodeSettings): Promise<ServingNode> {
  const stores = realStores();
  return backendOf(stores ? 'PostgreSQL and Redis' : 'embedded', stores?.postgresUrl).start(
    settings,
  );
}

/** Returns a node that is started before the suite's tests, and ends with them: it is empty until then. */
export function suiteNode(start: () => Promise<ServingNode>): ServingNode {
  const node: Partial<ServingNode> = {};
  beforeAll(async () => {
    Object.assign(node, await start());
  });
  afterAll(() => node.dispose?.());
  return node as ServingNode;
}

/** Runs a suite that needs the real stores, or skips it and says why. */
export function describeOnRealStores(title: string, suite: () => void): void {
  if (realStores() === undefined) describe.skip(`${title} ${NO_STORES}`, suite);
  else describe(title, suite);
}

/** Runs a suite that needs the real stores and takes long, in full alone. */
export function describeInFull(title: string, suite: () => void): void {
  if (IS_FULL) describeOnRealStores(title, suite);
  // biome-ignore lint/suspicious/noSkippedTests: the title tells what runs it.
  else describe.skip(title + FULL_ONLY, suite);
}

/** Returns the run's real stores, or undefined when one of them is missing. */
export function realStores(): { postgresUrl: string; redisUrl: string } | undefined {
  const postgresUrl = inject('postgresUrl');
  const redisUrl = inject('redisUrl');
  return postgresUrl === '' || redisUrl === '' ? undefined : { postgresUrl, redisUrl };
}

function backendOf(setUp: SetUp, postgresUrl: string | undefined): Backend {
  if (setUp === 'embedded' || postgresUrl === undefined)
    return { name: 'embedded', start: startNode };
  return {
    name: 'PostgreSQL and Redis',
    start: (settings) => startNodeOnReal(postgresUrl, settings),
  };
}
