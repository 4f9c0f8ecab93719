// Tests many edges of one service (docs/contract.md 29.6): a change reaches all of them, and while nothing
// changes each asks the service no more than once in two seconds. SLUICE_FULL=1 starts 20, otherwise three.

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { makeEdgeToken, startEdge } from '../support/edge-node.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { IS_FULL } from '../support/full-run.ts';
import { scrape } from '../support/metrics.ts';
import type { ServingNode } from '../support/node.ts';
import { check, createTenant, publish, type Tenant } from '../support/tenant.ts';

const EDGES = IS_FULL ? 20 : 3;
/** Time that the service keeps the question of an edge while nothing changes. */
const WAIT_MS = 2000;
const COUNTED_MS = 5 * WAIT_MS;
const CHANGES = 5;

describeOnBackends('many edges', (backend) => {
  let service: ServingNode;
  let edges: readonly ServingNode[] = [];
  beforeAll(async () => {
    service = await backend.start({ SECRET_KEY: 'a key of the tests' });
    const { secret } = await makeEdgeToken(service);
    const started: ServingNode[] = [];
    for (let count = 0; count < EDGES; count++) {
      started.push(await startEdge(service.url, secret));
      edges = started;
    }
  }, 300_000);
  afterAll(async () => {
    for (const edge of edges) await edge.dispose();
    await service?.dispose();
  });

  function serves(edge: ServingNode, tenant: Tenant, version: string): Promise<void> {
    const isThere = async () => {
      const answer = await check(edge, tenant, '0.9.0', { device: randomUUID() });
      return answer.body?.version === version;
    };
    return eventually(`an edge serves ${version}`, isThere);
  }

  it('all serve each change (§29.6)', async () => {
    const tenant = await createTenant(service);
    for (let change = 1; change <= CHANGES; change++) {
      const version = `${change}.0.0`;
      await publish(service, tenant, version);
      const publishedAt = performance.now();
      await Promise.all(edges.map((edge) => serves(edge, tenant, version)));
      const ms = Math.round(performance.now() - publishedAt);
      console.log(`many edges: a release reached ${EDGES} edges after ${ms} ms`);
    }
  });

  it('ask once in two seconds each while nothing changes', async () => {
    const beganAt = performance.now();
    const before = await questions();
    await sleep(COUNTED_MS);
    const asked = (await questions()) - before;
    const tookMs = performance.now() - beganAt;
    expect(asked).toBeGreaterThan(0);
    // One more each: an answer that was under way before, and counts at its end.
    expect(asked).toBeLessThanOrEqual(EDGES * (tookMs / WAIT_MS + 1));
  });

  /** Questions of edges for what has changed that the service has answered. */
  async function questions(): Promise<number> {
    const { text } = await scrape(service, '/metrics');
    const counts = text.matchAll(
      /^sluice_requests_total\{.*route="\/edge\/v1\/index".*\} (\d+)$/gm,
    );
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  }
});
