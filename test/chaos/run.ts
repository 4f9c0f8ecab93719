// Chaos run: two nodes and an edge on real stores, faults that a seed chooses, one after another and in
// pairs, and a judge for every answer to update checks and to devices that speak DDI. Fails when an answer
// was wrong, when an acknowledged write was lost that no fail-over took, or when a node was not right in time
// after a fault.
//
//     npm run chaos -- --seed 1 --minutes 10

import { parseArgs } from 'node:util';
import { DdiDevice } from '../support/ddi-device.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { createTenant, type Tenant } from '../support/tenant.ts';
import { RETRY_AFTER_MINUTES, ReleaseNumbers } from './ddi-oracle.ts';
import { playDdiDevices } from './ddi-traffic.ts';
import { startForeignRedis } from './elsewhere.ts';
import { Fact } from './fact.ts';
import { type ChaosFault, chaosFaults } from './faults.ts';
import { Judge } from './judge.ts';
import { ModelChannel, type ModelStatus } from './oracle.ts';
import { Random } from './random.ts';
import { startReceivers } from './receivers.ts';
import { checkOffers, reconcile } from './reconcile.ts';
import { ChaosReport } from './report.ts';
import { askAsDevices, askOnce, type ChaosApp, deviceIds, FILES, Publisher } from './traffic.ts';
import { EDGE, startWorld, type World } from './world.ts';

const NODES = ['node 1', 'node 2'] as const;
const APP_COUNT = 2;
const DEVICE_LOOPS = 6;
const DDI_LOOPS = 2;
const PAIR_SHARE = 0.25;
/** Longest time after a fault until every node is right; the promise, and the time that asking them takes. */
const RIGHT_WITHIN_MS = 5000;
/** Pause between two rounds of asking, and devices asked in a round: few enough for the limit of a device. */
const RIGHT_INTERVAL_MS = 150;
const DEVICES_ASKED = 12;
/** Time after which the run gives up to wait for a node that stays wrong. */
const GIVE_UP_MS = 30_000;

/** What a run has, and what it knows. */
type Run = {
  readonly world: World;
  readonly apps: readonly ChaosApp[];
  readonly judge: Judge;
  readonly publisher: Publisher;
  readonly random: Random;
};

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: { seed: { type: 'string', default: '1' }, minutes: { type: 'string', default: '10' } },
  });
  const [seed, minutes] = [Number(values.seed), Number(values.minutes)];
  if (!Number.isInteger(seed) || !(minutes > 0)) throw new Error('--seed N --minutes M');
  const world = await startWorld(NODES);
  try {
    return await runChaos(world, seed, minutes * 60_000);
  } finally {
    await world.dispose();
  }
}

async function runChaos(world: World, seed: number, durationMs: number): Promise<boolean> {
  const random = new Random(seed);
  const judge = new Judge(new Map([[EDGE, NODES[0]]]));
  const apps = await Promise.all(Array.from({ length: APP_COUNT }, () => createApp(world)));
  const refs = apps.map(({ tenant }) => tenant.app);
  const foreignRedis = await startForeignRedis(world, refs);
  const receivers = await startReceivers(world);
  const theirs = await foreignRedis.countWaiting();
  const answering = [...world.nodes, world.edge];
  const publisher = new Publisher(world.nodes, apps, new Random(seed + 1));
  const report = new ChaosReport(seed, judge, publisher);
  const faults = chaosFaults({
    ...{ world, random, judge, publisher, foreignRedis, receivers },
    onLoss: async (loss) => {
      report.lostCount += await reconcile(world, apps, judge, loss);
      for (const { numbers } of apps) numbers.forget();
    },
  });
  const end = performance.now() + durationMs;
  let isOver = false;
  const traffic = [
    publisher.run(() => isOver),
    ...Array.from({ length: DEVICE_LOOPS }, (_, index) => {
      return askAsDevices(answering, apps, new Random(seed + 2 + index), judge, () => isOver);
    }),
    ...Array.from({ length: DDI_LOOPS }, (_, loop) => {
      const app = apps[loop % apps.length] as ChaosApp;
      const random = new Random(seed + 100 + loop);
      return playDdiDevices({ world, app, judge, random, loop }, () => isOver);
    }),
  ];
  try {
    while (performance.now() < end) {
      const struck = chooseFaults(faults, random);
      const before = judge.wrongCount;
      await Promise.all(struck.map((fault) => fault.strike()));
      const { rightMs, last } = await untilRight({ world, apps, judge, publisher, random });
      report.struck(struck, rightMs, judge.wrongCount - before);
      if (rightMs > RIGHT_WITHIN_MS) {
        const late = last.join(' and ') || 'all';
        const after = struck.map(({ name }) => name).join(' and ');
        judge.note(`${late} right only ${Math.round(rightMs)} ms after ${after}`);
      }
      await sleep(500 + random.next() * 1500);
    }
  } finally {
    isOver = true;
    await Promise.all(traffic);
    if ((await foreignRedis.countWaiting()) !== theirs) {
      judge.note('check-ins were put into the Redis of another deployment, or taken out of it');
    }
    await Promise.all([foreignRedis.stop(), receivers.dispose()]);
  }
  process.stdout.write(report.text());
  return judge.wrongCount === 0;
}

async function createApp({ nodes }: World): Promise<ChaosApp> {
  const [{ serving }] = nodes;
  const tenant = await createTenant(serving);
  const model = new ModelChannel();
  const from = performance.now();
  const { status } = await tenant.publish('1.1.0', FILES);
  if (status !== 201) throw new Error(`not published: ${status}`);
  model.releases.set('1.1.0', {
    ...{ version: '1.1.0', ring: undefined, offeredAt: Number.POSITIVE_INFINITY },
    status: new Fact<ModelStatus>('published', from, performance.now()),
    isForAll: new Fact(true, from, performance.now()),
  });
  await answerDdi(nodes, tenant);
  return { tenant, model, numbers: new ReleaseNumbers(), histories: new Map(), releaseCount: 1 };
}

/** Turns DDI on, and waits until every node answers it. */
async function answerDdi(nodes: World['nodes'], tenant: Tenant): Promise<void> {
  await tenant.openDdi({ retryAfterMinutes: RETRY_AFTER_MINUTES });
  for (const { name, serving } of nodes) {
    const device = new DdiDevice(serving, tenant.app, 'first');
    await eventually(`${name} answers DDI`, async () => (await device.ask('GET')).status === 200);
  }
}

function chooseFaults(faults: readonly ChaosFault[], random: Random): readonly ChaosFault[] {
  if (random.next() >= PAIR_SHARE) return [random.pick(faults)];
  const first = random.pick(faults.filter(({ isCombinable }) => isCombinable));
  const others = faults.filter(
    ({ isCombinable, strikes }) => isCombinable && strikes !== first.strikes,
  );
  return [first, random.pick(others)];
}

/**
 * Holds the publisher, compares the ledger with what was acknowledged, and returns the milliseconds until
 * every node and the edge give every device what the ledger's state gives it, and the names of the last
 * that did.
 */
async function untilRight(
  run: Run,
): Promise<{ readonly rightMs: number; readonly last: string[] }> {
  const { world, apps, judge, publisher } = run;
  const start = performance.now();
  await publisher.hold();
  await reconcile(world, apps, judge);
  const settledAt = performance.now();
  try {
    let last: string[] = [];
    for (let wrong = await findWrong(run, settledAt); wrong.length > 0; ) {
      last = wrong;
      if (performance.now() - start > GIVE_UP_MS) break;
      await sleep(RIGHT_INTERVAL_MS);
      wrong = await findWrong(run, settledAt);
    }
    const rightMs = performance.now() - start;
    await checkOffers(world, apps, judge);
    return { rightMs, last };
  } finally {
    publisher.resume();
  }
}

/** Returns the names of those that do not give some devices what the ledger's state gives them. */
async function findWrong(
  { world, apps, judge, random }: Run,
  settledAt: number,
): Promise<string[]> {
  const devices = deviceIds();
  const answering = [...world.nodes, world.edge];
  const all = answering.map(({ name }) => name);
  for (const app of apps) {
    for (let count = 0; count < DEVICES_ASKED; count++) {
      const device = random.pick(devices);
      const told = await Promise.all(answering.map((each) => askOnce(each, app, device, judge)));
      const span = { from: settledAt, to: performance.now() };
      const wrong = all.filter((_, place) => {
        const each = told[place];
        return each === undefined || app.model.fault(each, span, false) !== undefined;
      });
      if (wrong.length > 0) return wrong;
      if (new Set(told.map((each) => each?.version)).size !== 1) return all;
    }
  }
  return [];
}

process.exitCode = (await main()) ? 0 : 1;
