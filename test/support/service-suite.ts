// Declares suites that speak HTTP to a node which other suites use too: each makes a tenant of its own there.
// A suite that stops its node, reads its output or its metrics, or chooses its settings takes
// `describeOnBackends`. matrix.ts says on which set-ups a suite runs.

import { beforeAll, beforeEach, describe, inject } from 'vitest';
import { type SetUp, setUpsOf } from './matrix.ts';
import { type Addressed, createTenant, Tenant, type Version } from './tenant.ts';

/** The run's node of one set-up (shared-nodes.ts). */
export type SharedNode = { readonly url: string; readonly setUp: SetUp };

/** Runs a suite on the best set-up, or embedded. */
export function serviceSuite(title: string, suite: (node: SharedNode) => void): void {
  suiteOn(['PostgreSQL and Redis', 'embedded'], title, suite);
}

/**
 * Runs a suite of what devices ask on the best set-up, or embedded; in the whole matrix on an edge as well.
 * What an edge does otherwise than a node is listed in test/service/edge.test.ts.
 */
export function deviceSuite(title: string, suite: (node: SharedNode) => void): void {
  suiteOn(['PostgreSQL and Redis', 'embedded', 'edge'], title, suite);
}

const tenantBefore =
  (hook: typeof beforeAll | typeof beforeEach) =>
  (node: Addressed, ...releases: readonly Version[]): Tenant => {
    const tenant = new Tenant(node, {});
    hook(async () => {
      Object.assign(tenant, await createTenant(node, ...releases));
    });
    return tenant;
  };

/** A tenant of the suite, which is created before its tests: it has no names until then. */
export const suiteTenant = tenantBefore(beforeAll);

/** A tenant that is created anew before each test of the suite. */
export const testTenant = tenantBefore(beforeEach);

/** The run's node on the best set-up. */
export function sharedNode(): SharedNode {
  const [setUp = 'embedded'] = setUpsOf('', ['PostgreSQL and Redis', 'embedded'], hasReal());
  return nodeOf(setUp);
}

function suiteOn(known: readonly SetUp[], title: string, suite: (node: SharedNode) => void): void {
  for (const setUp of setUpsOf(title, known, hasReal())) {
    const node = nodeOf(setUp);
    describe(`${title} (${setUp})`, () => suite(node));
  }
}

function nodeOf(setUp: SetUp): SharedNode {
  return { url: inject('sharedNodes')[setUp], setUp };
}

function hasReal(): boolean {
  return inject('sharedNodes')['PostgreSQL and Redis'] !== '';
}
