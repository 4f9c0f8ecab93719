// Tests an edge whose upstream's answers somebody changes, repeats or makes up (docs/contract.md 29), and one
// whose token was revoked.

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { arrives, offeredBy } from '../support/edge-arrival.ts';
import { makeEdgeToken, startEdge } from '../support/edge-node.ts';
import {
  type EdgeWay,
  forging,
  startEdgeWay,
  tampering,
  unsigning,
  type WayAnswer,
} from '../support/edge-way.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { metricsOf } from '../support/metrics.ts';
import type { ServingNode } from '../support/node.ts';
import { admin, check, control, createTenant, publish, type Tenant } from '../support/tenant.ts';

const ASK_INTERVAL_MS = 20;

describeOnBackends('what comes from the address of the upstream', (backend) => {
  let upstream: ServingNode;
  const ends: (() => Promise<unknown> | unknown)[] = [];
  beforeAll(async () => {
    upstream = await backend.start({ SECRET_KEY: 'a key of the tests' });
  });
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
    await upstream?.dispose();
  });

  async function withRelease(version: string): Promise<Tenant> {
    const tenant = await createTenant(upstream);
    await publish(upstream, tenant, version);
    return tenant;
  }

  async function edgeOnBadWay(org: string | null = null) {
    const way: EdgeWay = await startEdgeWay(upstream.url);
    const { secret, id } = await makeEdgeToken(upstream, org);
    const edge = await startEdge(way.url, secret);
    ends.push(
      () => way.stop(),
      () => edge.dispose(),
    );
    return { edge, way, tokenId: id };
  }

  async function refusedFor(edge: ServingNode, reason: string): Promise<void> {
    await eventually(`an answer is refused as ${reason}`, async () => {
      return (await metricsOf(edge)).includes(`sluice_edge_refused_total{reason="${reason}"}`);
    });
    await eventually('the log says so', () => edge.output().includes(`"reason":"${reason}"`));
  }

  /** Waits until answers to two more calls were refused. */
  async function refusedAgain(edge: ServingNode, reason: string): Promise<void> {
    const count = async () => {
      const pattern = new RegExp(`^sluice_edge_refused_total\\{reason="${reason}"\\} (\\d+)$`, 'm');
      return Number(pattern.exec(await metricsOf(edge))?.[1] ?? 0);
    };
    const before = await count();
    await eventually('answers are refused', async () => (await count()) >= before + 2);
  }

  it.each([
    ['tampered', tampering],
    ['tampered', forging],
    ['unsigned', unsigning],
  ] as const)('that is %s is refused, counted and said (§29.3)', async (reason, onTheWay) => {
    const { edge, way } = await edgeOnBadWay();
    const tenant = await withRelease('1.0.0');
    await arrives(edge, tenant, '1.0.0');
    way.set(onTheWay);
    await control(upstream, tenant, '1.0.0', { status: 'paused' });
    await refusedFor(edge, reason);
    expect(await offeredBy(edge, tenant)).toBe('1.0.0');
    way.set((_, answer) => answer);
    await arrives(edge, tenant, null);
  });

  it('that answers an earlier call is refused, also after its restart (§29.3)', async () => {
    const { edge, way } = await edgeOnBadWay();
    const tenant = await withRelease('1.0.0');
    await arrives(edge, tenant, '1.0.0');
    let before: WayAnswer | undefined;
    way.set((path, answer) => {
      if (path.includes('/index') && answer.status === 200) before = answer;
      return answer;
    });
    await control(upstream, tenant, '1.0.0', { status: 'paused' });
    await arrives(edge, tenant, null);
    const paused = before;
    await control(upstream, tenant, '1.0.0', { status: 'published' });
    await arrives(edge, tenant, '1.0.0');
    way.set((path, answer) => (path.includes('/index') ? (paused ?? answer) : answer));
    await refusedFor(edge, 'tampered');
    await refusedAgain(edge, 'tampered');
    expect(await offeredBy(edge, tenant)).toBe('1.0.0');
    await edge.kill();
    const again = await edge.restart();
    ends.push(() => again.dispose());
    await refusedFor(again, 'tampered');
    expect(await offeredBy(again, tenant)).toBe('1.0.0');
  });

  it('and says that nothing is new, unsigned, is no contact with it (§29.3)', async () => {
    const { edge, way } = await edgeOnBadWay();
    const tenant = await withRelease('1.0.0');
    await arrives(edge, tenant, '1.0.0');
    way.set((path, answer) => {
      if (!path.includes('/index')) return answer;
      return { status: 304, headers: {}, body: Buffer.alloc(0) };
    });
    await control(upstream, tenant, '1.0.0', { status: 'paused' });
    await refusedFor(edge, 'unsigned');
    await eventually('the edge knows that it is cut off', async () => {
      return (await metricsOf(edge)).includes('sluice_store_up{store="upstream"} 0');
    });
    way.set((_, answer) => answer);
    await arrives(edge, tenant, null);
  });

  it('and takes check-ins over, or refuses them, for it, loses none (§29.5)', async () => {
    const { edge, way } = await edgeOnBadWay();
    const tenant = await withRelease('1.0.0');
    await arrives(edge, tenant, '1.0.0');
    let taken: WayAnswer | undefined;
    way.set((path, answer) => {
      if (path.endsWith('/check-ins') && answer.status === 200) taken = answer;
      return answer;
    });
    await eventually('check-ins were handed over', async () => {
      await check(edge, tenant, '0.9.0', { device: randomUUID() });
      await sleep(ASK_INTERVAL_MS);
      return taken !== undefined;
    });
    const before = taken;
    const nothing = { status: 413, headers: {}, body: Buffer.alloc(0) };
    for (const [device, instead] of [
      ['earlier', before],
      ['proxy', nothing],
    ] as const) {
      let refusals = 0;
      way.set((path, answer) => {
        if (!path.endsWith('/check-ins')) return answer;
        refusals += 1;
        return instead ?? answer;
      });
      await check(edge, tenant, '0.9.0', { device });
      await eventually('it is tried again', () => refusals > 2);
    }
    expect(await metricsOf(edge)).toContain('sluice_check_ins_total{outcome="dropped"} 0');
    expect(await metricsOf(edge)).toMatch(/sluice_check_in_queue_entries [1-9]/);
    way.set((_, answer) => answer);
    await eventually('the journal is empty', async () => {
      return (await metricsOf(edge)).includes('sluice_check_in_queue_entries 0');
    });
  });

  it('is nothing new once the token is revoked, which is counted and said (§29.2)', async () => {
    const { edge, tokenId } = await edgeOnBadWay();
    const tenant = await withRelease('1.0.0');
    await arrives(edge, tenant, '1.0.0');
    await admin(upstream, 'POST', 'edge-tokens/revoke', { id: tokenId });
    await refusedFor(edge, 'revoked');
    await control(upstream, tenant, '1.0.0', { status: 'paused' });
    await refusedAgain(edge, 'revoked');
    expect(await offeredBy(edge, tenant)).toBe('1.0.0');
  });

  it('does not name the apps of other organizations (§29.2)', async () => {
    const mine = await withRelease('1.0.0');
    const other = await withRelease('1.0.0');
    const { edge } = await edgeOnBadWay(mine.org);
    await arrives(edge, mine, '1.0.0');
    expect((await check(edge, other, '0.9.0')).status).toBe(404);
    expect((await check(edge, { app: other.appId }, '0.9.0')).status).toBe(404);
  });
});
