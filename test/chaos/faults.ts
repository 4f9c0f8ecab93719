// Faults of a chaos run: each begins, lasts for a while that chance chooses, and is healed.

import { sleep } from '../support/eventually.ts';
import type { Moment, Span } from './fact.ts';
import type { Judge, Struck } from './judge.ts';
import type { Random } from './random.ts';
import type { Publisher } from './traffic.ts';
import type { ChaosNode, World } from './world.ts';

/** Ledger that went back: what was committed since a moment is gone from the time of the span on. */
export type Loss = { readonly since: Moment; readonly span: Span };

export type ChaosFault = {
  readonly name: string;
  /** Whether it may happen together with another one. */
  readonly isCombinable: boolean;
  /** What it strikes; two faults of the same cannot happen together. */
  readonly strikes: 'node' | 'ledger' | 'engine';
  /** Brings the fault about and heals it. */
  strike(): Promise<void>;
};

/** Milliseconds of writes that a standby or a dump does not have. */
const LAG_MS = 3000;
const CLOCK_SHIFTS_MS = [-3_600_000, -4000, 0, 3000, 3_600_000, 86_400_000] as const;

export type FaultDependencies = {
  readonly world: World;
  readonly random: Random;
  readonly judge: Judge;
  readonly publisher: Publisher;
  /** Called while the publisher is held, once the ledger that went back can be read. */
  readonly onLoss: (loss: Loss) => Promise<void>;
};

/** Lists the faults of a run. */
export function chaosFaults(dependencies: FaultDependencies): readonly ChaosFault[] {
  const { world, random, judge, publisher, onLoss } = dependencies;
  const during = async (struck: Struck, work: () => Promise<void>): Promise<void> => {
    const end = judge.begin(struck);
    try {
      await work();
    } finally {
      end();
    }
  };
  const hold = (longestMs: number) => sleep(500 + random.next() * longestMs);
  const nodeFault = (name: string, work: (node: ChaosNode) => Promise<void>): ChaosFault => ({
    name,
    isCombinable: true,
    strikes: 'node',
    strike() {
      const node = random.pick(world.nodes);
      return during({ node: node.name }, () => work(node));
    },
  });
  const storeFault = (
    name: string,
    struck: 'ledger' | 'engine',
    work: () => Promise<void>,
  ): ChaosFault => ({
    name,
    isCombinable: true,
    strikes: struck,
    strike: () => during(struck, work),
  });
  /** Makes a fault after which the ledger is as it was when it was prepared. */
  const lossFault = (name: string, prepare: () => Promise<() => Promise<void>>): ChaosFault => ({
    name,
    isCombinable: false,
    strikes: 'ledger',
    async strike() {
      const since = performance.now();
      const goBack = await prepare();
      await sleep(LAG_MS);
      // What is in flight when the ledger goes back could be on either side of it, so nothing is.
      await publisher.hold();
      const from = performance.now();
      await during('ledger', goBack);
      await onLoss({ since, span: { from, to: performance.now() } });
      publisher.resume();
    },
  });
  return [
    nodeFault('node killed', async (node) => {
      await node.kill();
      await hold(1500);
      await node.restart();
    }),
    nodeFault('node frozen', async (node) => {
      node.freeze();
      await hold(8000);
      node.thaw();
    }),
    nodeFault('clock of a node set wrong', async (node) => {
      node.clock.set(random.pick(CLOCK_SHIFTS_MS));
      await hold(3000);
    }),
    storeFault('Redis killed', 'engine', async () => {
      await world.redis.kill();
      await hold(4000);
      await world.redis.restart();
    }),
    storeFault('Redis frozen', 'engine', async () => {
      world.redis.pause();
      await hold(6000);
      world.redis.resume();
    }),
    storeFault('PostgreSQL killed', 'ledger', async () => {
      await world.primary().kill();
      await hold(4000);
      await world.primary().restart();
    }),
    storeFault('PostgreSQL frozen', 'ledger', async () => {
      world.primary().pause();
      await hold(8000);
      world.primary().resume();
    }),
    lossFault('fail-over to a standby that lags', async () => {
      await world.lag();
      return world.failOver;
    }),
    lossFault('a dump restored', world.dump),
  ];
}
