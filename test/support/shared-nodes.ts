// Global setup of all tests that speak HTTP: one node of each set-up, for suites that only need a tenant of
// their own (service-suite.ts). Suites that stop a node, read its output or metrics, or choose its settings
// start one themselves.

import type { TestProject } from 'vitest/node';
import { startEdgeFront } from './edge-front.ts';
import { startNode } from './node.ts';
import { Person } from './person.ts';
import { startNodeOnReal } from './real-node.ts';
import { shareInRun } from './share-in-run.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    embeddedNodeUrl: string;
    /** URL of the node on real stores; empty when there is no PostgreSQL or no Redis. */
    realNodeUrl: string;
    /** URL of an edge and the node that it follows, as one: see edge-front.ts. */
    edgeUrl: string;
  }
}

const SETTINGS = { SECRET_KEY: 'a key of the tests' };

type SharedNodes = {
  readonly embeddedUrl: string;
  readonly realUrl: string;
  readonly edgeUrl: string;
  stop(): Promise<void>;
};

/**
 * Starts the nodes, or uses those of another part of the run. Returns the function that ends them after the
 * last part.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { postgresUrl, redisUrl } = project.getProvidedContext();
  const isReal = postgresUrl !== '' && redisUrl !== '';
  const { shared, release } = await shareInRun('nodes', () =>
    startNodes(isReal ? postgresUrl : undefined),
  );
  project.provide('embeddedNodeUrl', shared.embeddedUrl);
  project.provide('realNodeUrl', shared.realUrl);
  project.provide('edgeUrl', shared.edgeUrl);
  return release;
}

async function startNodes(postgresUrl: string | undefined): Promise<SharedNodes> {
  const nodes = await Promise.all([
    startNode(SETTINGS),
    ...(postgresUrl === undefined ? [] : [startNodeOnReal(postgresUrl, SETTINGS)]),
  ]);
  // Creates the first account. Suites that test a node without an account start their own.
  await Promise.all(nodes.map((node) => new Person(node).setUp('First')));
  const [embedded, real] = nodes;
  const edge = await startEdgeFront(real ?? embedded);
  return {
    embeddedUrl: embedded.url,
    realUrl: real?.url ?? '',
    edgeUrl: edge.url,
    async stop() {
      await edge.stop();
      await Promise.all(nodes.map((node) => node.dispose()));
    },
  };
}
