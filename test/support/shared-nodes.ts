// Global setup of all tests that speak HTTP: a node for the suites that only need a tenant of their own
// (service-suite.ts), on the set-ups that matrix.ts wants. Suites that stop a node, read its output or
// metrics, or choose its settings start one themselves.

import type { TestProject } from 'vitest/node';
import { startEdgeFront } from './edge-front.ts';
import { IS_EMBEDDED, IS_WHOLE_MATRIX, type SetUp } from './matrix.ts';
import { startNode } from './node.ts';
import { Person } from './person.ts';
import { startNodeOnReal } from './real-node.ts';
import { SHARED_RECEIVER } from './receiver.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** URL of the run's node on each set-up; empty where there is none. */
    sharedNodes: Readonly<Record<SetUp, string>>;
  }
}

const SETTINGS = {
  SECRET_KEY: 'a key of the tests',
  NOTIFY_PRIVATE: `${SHARED_RECEIVER}/32`,
};

/** Starts the nodes. Returns the function that ends them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { postgresUrl, redisUrl } = project.getProvidedContext();
  const isReal = postgresUrl !== '' && redisUrl !== '';
  const [real, embedded] = await Promise.all([
    isReal ? startNodeOnReal(postgresUrl, SETTINGS) : undefined,
    !isReal || IS_EMBEDDED ? startNode(SETTINGS) : undefined,
  ]);
  const nodes = [real, embedded].filter((node) => node !== undefined);
  // Creates the first account. Suites that test a node without an account start their own.
  await Promise.all(nodes.map((node) => new Person(node).setUp('First')));
  const [best] = nodes;
  const edge = IS_WHOLE_MATRIX && best !== undefined ? await startEdgeFront(best) : undefined;
  project.provide('sharedNodes', {
    'PostgreSQL and Redis': real?.url ?? '',
    embedded: embedded?.url ?? '',
    edge: edge?.url ?? '',
  });
  return async () => {
    await edge?.stop();
    await Promise.all(nodes.map((node) => node.dispose()));
  };
}
