// Faults of a chaos run: each begins, lasts for a while that chance chooses, and is healed.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, sleep } from '../support/eventually.ts';
import { metricsOf } from '../support/metrics.ts';
import type { RedisServer } from '../support/redis-server.ts';
import { startWildServer, WILDNESSES } from '../support/wild-server.ts';
import { startRecoverySite } from './elsewhere.ts';
import type { Moment, Span } from './fact.ts';
import type { Judge, Struck } from './judge.ts';
import type { Random } from './random.ts';
import { type ChaosReceivers, hasArrived } from './receivers.ts';
import type { Publisher } from './traffic.ts';
import { type ChaosNode, EDGE, type World } from './world.ts';

/** Ledger that went back: what was committed since a moment is gone from the time of the span on. */
export type Loss = { readonly since: Moment; readonly span: Span };

export type ChaosFault = {
  readonly name: string;
  /** Whether it may happen together with another one. */
  readonly isCombinable: boolean;
  /** What it strikes; two faults of the same cannot happen together. */
  readonly strikes: 'node' | 'ledger' | 'engine' | 'edge' | 'receivers';
  /** Brings the fault about and heals it. */
  strike(): Promise<void>;
};

/** Milliseconds of writes that a standby or a dump does not have. */
const LAG_MS = 3000;
const CLOCK_SHIFTS_MS = [-3_600_000, -4000, 0, 3000, 3_600_000, 86_400_000] as const;
/** Longest time for an edge to be led to another service, and for new messages to arrive. */
const LED_MS_MAX = 20_000;
const ARRIVES_MS_MAX = 5000;

export type FaultDependencies = {
  readonly world: World;
  readonly random: Random;
  readonly judge: Judge;
  readonly publisher: Publisher;
  /** Redis of another deployment. */
  readonly foreignRedis: RedisServer;
  readonly receivers: ChaosReceivers;
  /** Called while the publisher is held, once the ledger that went back can be read. */
  readonly onLoss: (loss: Loss) => Promise<void>;
};

/** Lists the faults of a run. */
export function chaosFaults(dependencies: FaultDependencies): readonly ChaosFault[] {
  const { world, random, judge, publisher, foreignRedis, receivers, onLoss } = dependencies;
  const { redis, redisWay } = world;
  const during = async (
    struck: Struck,
    work: () => Promise<void>,
    losesSince?: Moment,
  ): Promise<void> => {
    const end = judge.begin(struck, losesSince);
    try {
      await work();
    } finally {
      end();
    }
  };
  const hold = (longestMs: number) => sleep(500 + random.next() * longestMs);
  const down = async (one: Pick<ChaosNode, 'kill' | 'restart'>, longestMs: number) => {
    await one.kill();
    await hold(longestMs);
    await one.restart();
  };
  const still = async (one: Pick<ChaosNode, 'pause' | 'resume'>, longestMs: number) => {
    one.pause();
    await hold(longestMs);
    one.resume();
  };
  const fault = (
    name: string,
    strikes: ChaosFault['strikes'],
    strike: () => Promise<void>,
    isCombinable = true,
  ): ChaosFault => ({ name, isCombinable, strikes, strike });
  const nodeFault = (name: string, work: (node: ChaosNode) => Promise<void>) =>
    fault(name, 'node', () => {
      const node = random.pick(world.nodes);
      return during({ node: node.name }, () => work(node));
    });
  const storeFault = (name: string, store: 'ledger' | 'engine', work: () => Promise<void>) =>
    fault(name, store, () => during(store, work));
  /** Makes a fault after which the ledger is as it was when it was prepared. */
  const lossFault = (name: string, prepare: () => Promise<() => Promise<void>>) => {
    const strike = async () => {
      const since = performance.now();
      const goBack = await prepare();
      await sleep(LAG_MS);
      // What is in flight when the ledger goes back could be on either side of it, so nothing is.
      await publisher.hold();
      const from = performance.now();
      const lose = async () => {
        await goBack();
        await onLoss({ since, span: { from, to: performance.now() } });
      };
      await during('ledger', lose, since);
      publisher.resume();
    };
    return fault(name, 'ledger', strike, false);
  };
  const toForeignRedis = async (work: () => Promise<void>) => {
    redisWay.moveTo(foreignRedis.port);
    await work();
    redisWay.moveTo(redis.port);
  };

  /**
   * Leads the edge to a copy of its service for a while, and back: the copy has raised its epoch meanwhile,
   * and the service has published a release.
   */
  const failBack = async () => {
    // What the copy offers is to be what the service has as well, whose writes begin again after it.
    await publisher.hold();
    await during({ node: EDGE }, async () => {
      const site = await startRecoverySite(world);
      world.leadEdgeTo(site.node);
      const follows = async () => (await metricsOf(site.node)).includes('sluice_edges_waiting 1');
      await eventually('the edge follows the copy', follows, LED_MS_MAX);
      await publisher.publish();
      world.leadEdgeTo();
      await site.dispose();
    });
    publisher.resume();
  };

  /**
   * Lets all destinations of an organization answer nonsense for a while. Then new messages to them and to
   * another organization must arrive in time; those that failed wait for their next try.
   */
  const receiveNonsense = async () => {
    const nonsense = await startNonsense();
    receivers.lead(nonsense);
    await receivers.sendAll();
    await hold(4000);
    receivers.lead();
    await nonsense.stop();
    const sent = await receivers.sendAll();
    const sentAt = performance.now();
    const isLate = () => performance.now() - sentAt > ARRIVES_MS_MAX;
    while (!sent.every(hasArrived) && !isLate()) await sleep(20);
    const missing = sent.filter((each) => !hasArrived(each)).length;
    if (missing > 0)
      judge.note(`${missing} receivers got no new message within ${ARRIVES_MS_MAX} ms`);
  };

  return [
    fault('fail-back of the edge', 'edge', failBack, false),
    fault('nonsense in place of the upstream of the edge', 'edge', () =>
      during({ node: EDGE }, async () => {
        const nonsense = await startNonsense();
        world.leadEdgeTo(nonsense);
        await hold(8000);
        world.leadEdgeTo();
        await nonsense.stop();
      }),
    ),
    // Messages of a node that dies meanwhile wait for the end of its lease.
    fault('nonsense from the receivers of notifications', 'receivers', receiveNonsense, false),
    storeFault('Redis of another deployment', 'engine', () => toForeignRedis(() => hold(4000))),
    {
      ...storeFault('node with an empty disk, and the Redis of another deployment', 'engine', () =>
        toForeignRedis(async () => {
          const node = random.pick(world.nodes);
          await during({ node: node.name }, async () => {
            await node.kill();
            rmSync(join(node.serving.dataDir, 'snapshots'), { recursive: true, force: true });
            await node.restart();
          });
          await hold(2000);
        }),
      ),
      isCombinable: false,
    },
    nodeFault('node killed', (node) => down(node, 1500)),
    nodeFault('node frozen', (node) => still(node, 8000)),
    nodeFault('clock of a node set wrong', async (node) => {
      node.clock.set(random.pick(CLOCK_SHIFTS_MS));
      await hold(3000);
    }),
    storeFault('Redis killed', 'engine', () => down(redis, 4000)),
    storeFault('Redis frozen', 'engine', () => still(redis, 6000)),
    storeFault('PostgreSQL killed', 'ledger', () => down(world.primary(), 4000)),
    storeFault('PostgreSQL frozen', 'ledger', () => still(world.primary(), 8000)),
    lossFault('fail-over to a standby that lags', async () => {
      await world.lag();
      return world.failOver;
    }),
    lossFault('a dump restored', world.dump),
  ];
}

/** Starts a server that answers each request with the next kind of nonsense. */
async function startNonsense() {
  let asked = 0;
  const server = await startWildServer(() => WILDNESSES[asked++ % WILDNESSES.length] ?? 'nothing');
  return { ...server, url: `http://127.0.0.1:${server.port}` };
}
