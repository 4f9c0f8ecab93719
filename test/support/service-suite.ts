// Declares suites that speak HTTP to a node which other suites use too: each makes a tenant of its own there.
// A suite that stops its node, reads its output or its metrics, or chooses its settings takes
// `describeOnBackends`.

import { describe, inject } from 'vitest';

/** The run's node of one set-up (shared-nodes.ts). */
export type SharedNode = {
  readonly url: string;
  readonly setUp: 'embedded' | 'PostgreSQL and Redis' | 'edge';
};

/** Runs a suite against the embedded set-up and against the real stores, as far as they are there. */
export function serviceSuite(title: string, suite: (node: SharedNode) => void): void {
  const embedded = embeddedNode();
  const real = realNode();
  describe(`${title} (${embedded.setUp})`, () => suite(embedded));
  if (real === undefined) {
    // biome-ignore lint/suspicious/noSkippedTests: the title tells what is missing on this machine.
    describe.skip(`${title} (skipped: no PostgreSQL or no Redis on this machine)`, () =>
      suite(embedded));
    return;
  }
  describe(`${title} (${real.setUp})`, () => suite(real));
}

/**
 * Runs a suite against one set-up, for rules that no store can change: on the real stores when there are any,
 * else embedded.
 */
export function serviceSuiteOnce(title: string, suite: (node: SharedNode) => void): void {
  const node = sharedNode();
  describe(`${title} (${node.setUp})`, () => suite(node));
}

/**
 * Runs a suite of what devices ask against the set-ups of `serviceSuite`, and against an edge. What an edge
 * does otherwise than a node is listed in test/service/edge.test.ts.
 */
export function deviceSuite(title: string, suite: (node: SharedNode) => void): void {
  serviceSuite(title, suite);
  describe(`${title} (edge)`, () => suite(edgeNode()));
}

/** Runs a suite of what devices ask against one set-up, as `serviceSuiteOnce` does, and against an edge. */
export function deviceSuiteOnce(title: string, suite: (node: SharedNode) => void): void {
  serviceSuiteOnce(title, suite);
  describe(`${title} (edge)`, () => suite(edgeNode()));
}

/** The run's node on the real stores when there are any, else the embedded one. */
export function sharedNode(): SharedNode {
  return realNode() ?? embeddedNode();
}

function embeddedNode(): SharedNode {
  return { url: inject('embeddedNodeUrl'), setUp: 'embedded' };
}

function edgeNode(): SharedNode {
  return { url: inject('edgeUrl'), setUp: 'edge' };
}

/** The run's node on real stores; undefined when one of the stores is missing. */
function realNode(): SharedNode | undefined {
  const url = inject('realNodeUrl');
  return url === '' ? undefined : { url, setUp: 'PostgreSQL and Redis' };
}
