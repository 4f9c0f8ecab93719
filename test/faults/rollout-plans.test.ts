// Tests that rollout plans go on as they were made when the node that drives them is killed, and when a
// store is away: each step once, each hold in full (docs/contract.md 27.2).

import { describe, expect, it, type TestContext } from 'vitest';
import { describeOnBackends, describeOnRealStores } from '../support/backend.ts';
import { startCluster } from '../support/cluster.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { FULL_ONLY, IS_FULL } from '../support/full-run.ts';
import type { ServingNode } from '../support/node.ts';
import { admin, createTenant, type Tenant } from '../support/tenant.ts';

const STEPS = [1, 20, 100].map((rollout) => ({ rollout, holdMinutes: 0 }));
/** Time for the steps, each of which waits until the change before is served, and for a restart. */
const PLAN_MS_MAX = 150_000;
const POLL_INTERVAL_MS = 400;
/** Time for which a store is away: longer than a statement may take. */
const AWAY_MS = IS_FULL ? 15_000 : 6000;

const TRIPPING = { minimumDevices: 1, knownForMinutes: 0, confirmMinutes: 0, revertedPercent: 5 };

type Plan = {
  readonly id: string;
  readonly reason: string | null;
  readonly status: string;
  readonly step: number | null;
};

const NAME = { channel: 'stable', version: '1.0.0' };

async function planOf(tenant: Tenant): Promise<Plan> {
  const query = new URLSearchParams({ app: tenant.app, ...NAME });
  const answer = await tenant.manage('GET', `releases/plan?${query}`);
  expect(answer.status).toBe(200);
  return answer.body?.plan as Plan;
}

async function put(tenant: Tenant, parts: object = {}): Promise<void> {
  expect((await tenant.publish('1.0.0', { rollout: 0 })).status).toBe(201);
  const body = { app: tenant.app, ...NAME, steps: STEPS, ...parts };
  expect((await tenant.manage('PUT', 'releases/plan', body)).status).toBe(200);
}

async function steer(tenant: Tenant, action: string): Promise<void> {
  const body = { app: tenant.app, ...NAME, action };
  expect((await tenant.manage('PATCH', 'releases/plan', body)).status).toBe(200);
}

/** Waits until a plan is as it should be; asks seldom, because a key may ask 300 times a minute. */
async function untilPlan(
  tenant: Tenant,
  what: string,
  check: (plan: Plan) => boolean,
): Promise<void> {
  const isSo = async () => {
    await sleep(POLL_INTERVAL_MS);
    return check(await planOf(tenant));
  };
  await eventually(what, isSo, PLAN_MS_MAX);
}

/** Waits until the node has driven plans: until the first step of another one began. */
async function untilDriven(node: ServingNode): Promise<void> {
  const marker = await createTenant(node);
  await put(marker, { steps: [{ rollout: 1, holdMinutes: 60 }] });
  await untilPlan(marker, 'plans are driven', ({ step }) => step === 0);
}

/** Waits until the plan is completed, and expects each step once in the audit, in order. */
async function expectAllSteps(node: ServingNode, tenant: Tenant): Promise<void> {
  await untilPlan(tenant.at(node), 'the plan is completed', ({ status }) => status === 'completed');
  const { id } = await planOf(tenant.at(node));
  const { body } = await admin(node, 'GET', `audit?org=${tenant.org}&limit=1000`);
  const entries = body?.entries as { actor: string; action: string; reason: string | null }[];
  const served = entries.filter(({ action }) => action === 'release.serve').reverse();
  expect(served.map(({ actor, reason }) => [actor, reason])).toEqual(
    STEPS.map((_, index) => [`plan:${id}`, `Step ${index + 1} of ${STEPS.length}`]),
  );
}

// Side by side, for they wait more than they work: each has nodes and stores of its own.
describe.concurrent('rollout plans', () => {
  describeOnBackends('a plan whose node is killed', (backend) => {
    /** Starts a node of the test's own. */
    async function nodeOf({ onTestFinished }: TestContext) {
      let node = await backend.start();
      onTestFinished(() => node.dispose());
      return {
        node: () => node,
        async restart(): Promise<void> {
          await node.kill();
          node = await node.restart();
        },
      };
    }

    it('begins each step once, whenever its node is killed (§27.2)', async (context) => {
      const { node, restart } = await nodeOf(context);
      const tenant = await createTenant(node());
      await put(tenant.at(node()));
      for (const step of [0, 1]) {
        await untilPlan(
          tenant.at(node()),
          `step ${step} began`,
          (plan) => (plan.step ?? -1) >= step,
        );
        await restart();
      }
      await expectAllSteps(node(), tenant);
    });

    it('is scheduled or held after the kill as it was before (§27.3)', async (context) => {
      const { node, restart } = await nodeOf(context);
      const tenant = await createTenant(node());
      const startAt = new Date(Date.now() + 3_600_000).toISOString();
      await put(tenant.at(node()), { startAt });
      await restart();
      expect(await planOf(tenant.at(node()))).toMatchObject({
        status: 'scheduled',
        nextAt: startAt,
      });
      await steer(tenant.at(node()), 'hold');
      await restart();
      await untilDriven(node());
      expect(await planOf(tenant.at(node()))).toMatchObject({ status: 'held', step: null });
      await steer(tenant.at(node()), 'resume');
      await steer(tenant.at(node()), 'advance');
      await expectAllSteps(node(), tenant);
      await restart();
      await expectAllSteps(node(), tenant);
    });

    it('stays held by its guard after the kill, with what it said, and is held once (§27.5)', async (context) => {
      const { node, restart } = await nodeOf(context);
      const tenant = await createTenant(node());
      const ids = Array.from({ length: 5 }, (_, index) => `device-${index}`);
      // Reported devices belong to no network; those of one address alone trip no guard (§27.14).
      const each = (version: string) =>
        tenant
          .at(node())
          .report(
            ids.map((deviceId) => ({ deviceId, version, platform: 'linux', arch: 'x86_64' })),
          );
      await each('0.9.0');
      await tenant.at(node()).publish('0.9.0');
      const steps = [90, 100].map((rollout) => ({ rollout, holdMinutes: 60 }));
      await put(tenant.at(node()), { guards: TRIPPING, steps });
      await untilPlan(tenant.at(node()), 'the step began', ({ step }) => step === 0);
      for (const version of ['0.9.0', '1.0.0', '0.9.0']) {
        await each(version);
        // Of two check-ins in the same moment the record keeps one.
        await sleep(1500);
      }
      // Guards are checked before each step, and twice a minute: they may have tripped by now.
      const advance = { app: tenant.app, ...NAME, action: 'advance' };
      await tenant.at(node()).manage('PATCH', 'releases/plan', advance);
      await untilPlan(tenant.at(node()), 'the guard tripped', ({ status }) => status === 'held');
      const tripped = await planOf(tenant.at(node()));
      expect(tripped.reason).toMatch(/^reverted: [1-5] of [1-5] devices/);
      await restart();
      await untilDriven(node());
      expect(await planOf(tenant.at(node()))).toEqual(tripped);
      const { body } = await admin(node(), 'GET', `audit?org=${tenant.org}&limit=1000`);
      const entries = body?.entries as { actor: string; action: string }[];
      const own = entries.filter(({ actor }) => actor === `plan:${tripped.id}`);
      expect(own.filter(({ action }) => action === 'plan.hold')).toHaveLength(1);
    });
  });

  describeOnRealStores('a plan while a store is away', () => {
    it('begins each step once after PostgreSQL was away, on two nodes (§27.2)', (context) =>
      goOnAfter('postgres', context));
    it.skipIf(!IS_FULL)(`and after Redis was away${FULL_ONLY}`, (context) =>
      goOnAfter('redis', context),
    );

    async function goOnAfter(
      store: 'postgres' | 'redis',
      { onTestFinished }: TestContext,
    ): Promise<void> {
      const cluster = await startCluster();
      onTestFinished(() => cluster.dispose());
      const nodes = [await cluster.addNode(), await cluster.addNode()] as const;
      const [first, second] = nodes;
      const tenant = await createTenant(first);
      const guards = { failedPercent: 50 };
      // Nobody is there to judge by.
      await put(tenant, { guards, onBlind: 'advance' });
      await untilPlan(tenant, 'a step began', ({ step }) => step !== null);
      cluster[store].pause();
      await sleep(AWAY_MS);
      cluster[store].resume();
      await first.kill();
      await eventually('the other node answers', async () => {
        await sleep(POLL_INTERVAL_MS);
        return (await tenant.at(second).manage('GET', 'apps')).status === 200;
      });
      await expectAllSteps(second, tenant);
    }
  });
});
