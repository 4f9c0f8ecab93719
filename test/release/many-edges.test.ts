// Tests many edges of one service (docs/contract.md 29.6): a change reaches all of them, and following costs
// the service little. With SLUICE_FULL=1 there are 20 of them, and the cost is measured for a minute
// each with and without them; else there are three, and the figure is only printed.

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { makeEdgeToken, startEdge } from '../support/edge-node.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { IS_FULL } from '../support/full-run.ts';
import type { ServingNode } from '../support/node.ts';
import { check, createTenant, publish, type Tenant } from '../support/tenant.ts';

const EDGES = IS_FULL ? 20 : 3;
const MEASURED_MS = IS_FULL ? 60_000 : 5000;
/** Number of edges for which the cost is promised, and the promise in percent of a core. */
const PROMISED = { edges: 50, cpuPercentMax: 2 };
const ARRIVES_MS_MAX = 5000;
const CHANGES = 5;
const TICKS_PER_SECOND = 100;
const [USER_TICKS_AT, SYSTEM_TICKS_AT] = [11, 12];

/** Seconds of CPU that a process has taken so far. */
function cpuSeconds(pid: number): number {
  // The name, in parentheses, may have spaces.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[USER_TICKS_AT]) + Number(fields[SYSTEM_TICKS_AT])) / TICKS_PER_SECOND;
}

/** Percent of a core that a process takes while nothing is asked of it. */
async function restingPercent(pid: number): Promise<number> {
  const before = cpuSeconds(pid);
  await sleep(MEASURED_MS);
  return ((cpuSeconds(pid) - before) * 100_000) / MEASURED_MS;
}

describeOnBackends('many edges', (backend) => {
  let service: ServingNode;
  let edges: readonly ServingNode[] = [];
  let alone: number;
  beforeAll(async () => {
    service = await backend.start({ SECRET_KEY: 'a key of the tests' });
    await createTenant(service);
    await sleep(2000);
    alone = await restingPercent(service.process.pid);
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
    return eventually(`an edge serves ${version}`, isThere, ARRIVES_MS_MAX);
  }

  it('serve each change within five seconds (§29.6)', async () => {
    const tenant = await createTenant(service);
    for (let change = 1; change <= CHANGES; change++) {
      const version = `${change}.0.0`;
      await publish(service, tenant, version);
      const publishedAt = performance.now();
      await Promise.all(edges.map((edge) => serves(edge, tenant, version)));
      const ms = Math.round(performance.now() - publishedAt);
      console.log(`many edges: a release reached ${EDGES} edges after ${ms} ms`);
      expect(ms).toBeLessThan(ARRIVES_MS_MAX);
    }
  });

  it('take little of the service while nothing changes', async () => {
    await sleep(2000);
    const followed = await restingPercent(service.process.pid);
    const percent = ((followed - alone) * PROMISED.edges) / EDGES;
    console.log(
      `many edges: the service at rest takes ${alone.toFixed(2)} % of a core, with ${EDGES} edges ` +
        `${followed.toFixed(2)} %; for ${PROMISED.edges} that is ${percent.toFixed(2)} % more`,
    );
    // In some seconds, a tick of the clock is too much of what is measured.
    if (IS_FULL) expect(percent).toBeLessThan(PROMISED.cpuPercentMax);
    else expect(followed).toBeLessThan(20);
  });
});
