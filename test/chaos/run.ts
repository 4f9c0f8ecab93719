// Chaos run: two nodes on real stores, faults that a seed chooses, one after another and in pairs, and a
// judge for every answer. Fails when an answer was wrong, when an acknowledged write was lost that no
// fail-over took, or when a node was not right in time after a fault.
//
//     npm run chaos -- --seed 1 --minutes 10

import { parseArgs } from 'node:util';
import { sleep } from '../support/eventually.ts';
import { createTenant, publish } from '../support/tenant.ts';
import { Fact } from './fact.ts';
import { type ChaosFault, chaosFaults } from './faults.ts';
import { Judge } from './judge.ts';
import { ModelChannel } from './oracle.ts';
import { type Random, randomChoices } from './random.ts';
import { checkOffers, reconcile } from './reconcile.ts';
import { ChaosReport } from './report.ts';
import { askAsDevices, askOnce, type ChaosApp, deviceIds, Publisher } from './traffic.ts';
import { type ChaosNode, startWorld, type World } from './world.ts';

const NODES = ['node 1', 'node 2'] as const;
const APP_COUNT = 2;
const DEVICE_LOOPS = 6;
const PAIR_SHARE = 0.25;
/** Longest time after a fault until every node is right; the promise, and the time that asking them takes. */
const RIGHT_WITHIN_MS = 5000;
/** Pause between two rounds of asking, and devices asked in a round: few enough for the limit of a device. */
const RIGHT_INTERVAL_MS = 150;
const DEVICES_ASKED = 12;
/** Time after which the run gives up to wait for a node that stays wrong. */
const GIVE_UP_MS = 30_000;

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
  const random = randomChoices(seed);
  const judge = new Judge();
  const apps = await Promise.all(Array.from({ length: APP_COUNT }, () => createApp(world)));
  const publisher = new Publisher(world.nodes, apps, randomChoices(seed + 1));
  const report = new ChaosReport(seed, judge, publisher);
  const faults = chaosFaults({
    world,
    random,
    judge,
    publisher,
    onLoss: async (loss) => report.lost(await reconcile(world, apps, judge, loss)),
  });
  const end = performance.now() + durationMs;
  let isOver = false;
  const traffic = [
    publisher.run(() => isOver),
    ...Array.from({ length: DEVICE_LOOPS }, (_, index) =>
      askAsDevices(world.nodes, apps, randomChoices(seed + 2 + index), judge, () => isOver),
    ),
  ];
  try {
    while (performance.now() < end) {
      const struck = chooseFaults(faults, random);
      const before = judge.wrongCount;
      await Promise.all(struck.map((fault) => fault.strike()));
      const rightMs = await untilRight(world, apps, judge, publisher, random);
      report.struck(struck, rightMs, judge.wrongCount - before);
      if (rightMs > RIGHT_WITHIN_MS)
        judge.note(`right only ${Math.round(rightMs)} ms after ${named(struck)}`);
      await sleep(500 + random.next() * 1500);
    }
  } finally {
    isOver = true;
    await Promise.all(traffic);
  }
  process.stdout.write(report.text());
  return judge.wrongCount === 0;
}

async function createApp({ nodes }: World): Promise<ChaosApp> {
  const [node] = nodes;
  if (node === undefined) throw new Error('no node');
  const tenant = await createTenant(node.serving);
  const model = new ModelChannel();
  const from = performance.now();
  const { status } = await publish(node.serving, tenant, '1.1.0');
  if (status !== 201) throw new Error(`not published: ${status}`);
  model.releases.set('1.1.0', {
    version: '1.1.0',
    ring: undefined,
    status: new Fact<'published' | 'paused' | 'absent'>('published', from, performance.now()),
    isForAll: new Fact(true, from, performance.now()),
    offeredAt: Number.POSITIVE_INFINITY,
  });
  return { tenant, model, releaseCount: 1 };
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
 * every node gives every device what the ledger's state gives it.
 */
async function untilRight(
  world: World,
  apps: readonly ChaosApp[],
  judge: Judge,
  publisher: Publisher,
  random: Random,
): Promise<number> {
  const start = performance.now();
  await publisher.hold();
  await reconcile(world, apps, judge);
  const settledAt = performance.now();
  try {
    while (!(await isRight(world.nodes, apps, judge, random, settledAt))) {
      if (performance.now() - start > GIVE_UP_MS) break;
      await sleep(RIGHT_INTERVAL_MS);
    }
    const rightMs = performance.now() - start;
    await checkOffers(world, apps, judge);
    return rightMs;
  } finally {
    publisher.resume();
  }
}

async function isRight(
  nodes: readonly ChaosNode[],
  apps: readonly ChaosApp[],
  judge: Judge,
  random: Random,
  settledAt: number,
): Promise<boolean> {
  const devices = deviceIds();
  for (const app of apps) {
    for (let count = 0; count < DEVICES_ASKED; count++) {
      const device = random.pick(devices);
      const told = await Promise.all(nodes.map((node) => askOnce(node, app, device, judge)));
      const versions = new Set(told.map((each) => each?.version ?? (each && 'nothing')));
      if (versions.size !== 1 || told.includes(undefined)) return false;
      const [first] = told;
      if (first === undefined) return false;
      const span = { from: settledAt, to: performance.now() };
      if (app.model.fault(first, span, false) !== undefined) return false;
    }
  }
  return true;
}

function named(faults: readonly ChaosFault[]): string {
  return faults.map(({ name }) => name).join(' and ');
}

process.exitCode = (await main()) ? 0 : 1;
