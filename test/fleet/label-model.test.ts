// Checks device labels against a model: several nodes, reports, checks, lost and silent stores in any order.
// The model is one map: of each device and key the latest write that was acknowledged.

import fc from 'fast-check';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Labels } from '../../src/domain/decision/targeting.ts';
import { IS_FULL } from '../support/full-run.ts';
import { type LabelNode, LabelWorld } from './label-world.ts';

const DEVICES = ['a', 'b'];
/** Milliseconds between two events: more than the clocks of two nodes differ by. */
const STEP_MS = 2000;
/** Number of runs. */
const RUNS = IS_FULL ? 600 : 60;
/** Seed of those runs, so that they are the same each time; before a release each has its own. */
const SEED = 1;
const SKEWS_MS = [0, 400, -400];

type Event =
  | {
      readonly kind: 'report' | 'check';
      readonly node: number;
      readonly device: string;
      readonly labels: Labels;
    }
  | {
      readonly kind: 'erase' | 'cut off' | 'reconnect';
      readonly node: number;
      readonly device: string;
    }
  | { readonly kind: 'drain' | 'follow' | 'heal' | 'wait' }
  | { readonly kind: 'redis away' | 'redis back' | 'redis lost' | 'ledger away' | 'ledger back' };

const anyNode = fc.nat({ max: SKEWS_MS.length - 1 });
const anyDevice = fc.constantFrom(...DEVICES);
const anyLabels = fc
  .dictionary(fc.constantFrom('ring', 'site', 'tier'), fc.constantFrom('1', '2'), { minKeys: 1 })
  .map((labels) => new Map(Object.entries(labels)));
const anyWrite = fc.record({
  kind: fc.constantFrom('report' as const, 'check' as const, 'check' as const),
  ...{ node: anyNode, device: anyDevice, labels: anyLabels },
});
const anyTurn = fc.record({
  kind: fc.constantFrom('drain' as const, 'drain' as const, 'follow' as const, 'heal' as const),
});
const anyFault = fc.oneof(
  fc.record({
    kind: fc.constantFrom(
      ...([
        'redis away',
        'redis back',
        'redis lost',
        'ledger away',
        'ledger back',
        'wait',
      ] as const),
    ),
  }),
  fc.record({
    kind: fc.constantFrom('erase' as const, 'cut off' as const, 'reconnect' as const),
    ...{ node: anyNode, device: anyDevice },
  }),
);
const anyEvent: fc.Arbitrary<Event> = fc.oneof(
  { weight: 6, arbitrary: anyWrite },
  { weight: 3, arbitrary: anyTurn },
  { weight: 2, arbitrary: anyFault },
);

/** What the acknowledged writes make of the devices. */
class Model {
  readonly labels = new Map<string, Map<string, string>>();
  /** Keys that need not count before the check-ins that carry them are recorded. */
  readonly travelling = new Map<string, Set<string>>();
  /** Whether faults leave it open for some seconds what nodes decide by. */
  isOpen = false;

  write(device: string, labels: Labels): void {
    this.labels.set(device, new Map([...this.of(device), ...labels]));
    const travelling = this.travelling.get(device);
    for (const key of labels.keys()) travelling?.delete(key);
  }

  send(device: string, labels: Labels): void {
    this.write(device, labels);
    const travelling = this.travelling.get(device) ?? new Set();
    this.travelling.set(device, new Set([...travelling, ...labels.keys()]));
  }

  of(device: string): Labels {
    return this.labels.get(device) ?? new Map();
  }

  /** Takes over what the ledger has, where writes were lost that nobody promised to keep. */
  adopt(world: LabelWorld, devices: Iterable<string>): void {
    for (const device of devices)
      this.labels.set(device, new Map(world.ledger.find(device).labels));
  }
}

async function passTime(ms: number): Promise<void> {
  vi.advanceTimersByTime(ms);
  // What a timer has begun waits for two batches at most.
  for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
}

class Run {
  readonly model = new Model();
  readonly world = new LabelWorld(SKEWS_MS, passTime);
  private readonly isTargeted: boolean;
  private isAnyLost = false;
  /**
   * Devices with labels that other nodes cannot know before the feed tells them: of a report that a node
   * without Redis took, or of a check-in that waits for longer than its note lives.
   */
  private readonly untold = new Set<string>();
  /** Devices of those that checked meanwhile: what only repeats the state before is not written again. */
  private readonly unheard = new Set<string>();

  /** `isTargeted` tells whether a release asks for labels. */
  constructor(isTargeted: boolean) {
    this.isTargeted = isTargeted;
  }

  async handle(event: Event): Promise<void> {
    await this.world.pass(STEP_MS);
    await this.happen(event);
    if (!this.model.isOpen) await this.expectKnown();
  }

  private async happen(event: Event): Promise<void> {
    const { world, model } = this;
    switch (event.kind) {
      case 'report': {
        // A device that says again what a report has just overwritten is believed later (decision 0050).
        if ((model.travelling.get(event.device)?.size ?? 0) > 0) await this.heal();
        const isTaken = await this.nodeOf(event).report(event.device, event.labels);
        if (isTaken) model.write(event.device, event.labels);
        if (isTaken && !this.nodeOf(event).hasRedis) this.untold.add(event.device);
        return;
      }
      case 'check':
        if (this.untold.has(event.device)) this.unheard.add(event.device);
        if (this.isTargeted) {
          await this.nodeOf(event).check(event.device, event.labels, true);
          model.write(event.device, event.labels);
        } else {
          // Nobody is told of labels that travel: a device that asks here and there says them again.
          await this.nodeOf({ node: DEVICES.indexOf(event.device) }).check(
            event.device,
            event.labels,
            false,
          );
          model.send(event.device, event.labels);
        }
        return;
      case 'erase':
        if (model.isOpen || !world.ledger.has(event.device)) return;
        await this.nodeOf(event).erase(event.device);
        model.labels.delete(event.device);
        model.travelling.delete(event.device);
        return;
      case 'drain':
        await world.drain();
        if (!model.isOpen) model.travelling.clear();
        return;
      case 'follow':
        return world.follow();
      case 'heal':
        return this.heal();
      case 'wait':
        if (world.holdsLabels) for (const device of DEVICES) this.untold.add(device);
        await world.passLong();
        model.isOpen = true;
        return;
      default:
        model.isOpen = true;
        return this.fail(event);
    }
  }

  private async fail(event: Event): Promise<void> {
    const { world } = this;
    if (event.kind === 'ledger away') world.ledger.isAway = true;
    if (event.kind === 'ledger back') world.ledger.isAway = false;
    if (event.kind === 'redis away') {
      world.isRedisAway = true;
      for (const node of world.nodes) await node.noticeSilence();
    }
    if (event.kind === 'redis back' && world.isRedisAway) {
      world.isRedisAway = false;
      for (const node of world.nodes) node.missed();
    }
    if (event.kind === 'cut off') await this.nodeOf(event).cutOff();
    if (event.kind === 'reconnect') {
      this.isAnyLost ||= this.nodeOf(event).holdsLabels;
      this.nodeOf(event).reconnect();
    }
    if (event.kind === 'redis lost') {
      this.isAnyLost ||= world.queue.length > 0;
      world.loseRedis();
    }
  }

  /** Ends all faults, and expects that every node decides by what is on record, and that it is all there. */
  async heal(): Promise<void> {
    const { world, model } = this;
    if (world.isRedisAway) for (const node of world.nodes) node.missed();
    // What comes late may meet labels that were said again meanwhile, which the ledger does not date anew.
    this.isAnyLost ||= world.nodes.some((node) => !node.hasRedis && node.holdsLabels);
    await world.heal();
    if (this.isAnyLost) {
      await world.passLong();
      model.adopt(world, DEVICES);
    }
    model.adopt(world, this.unheard);
    this.isAnyLost = false;
    this.untold.clear();
    this.unheard.clear();
    model.isOpen = false;
    model.travelling.clear();
    for (const device of DEVICES) {
      expect(world.ledger.find(device).labels, `record of ${device}`).toEqual(
        sorted(model.of(device)),
      );
    }
    await this.expectKnown();
  }

  private async expectKnown(): Promise<void> {
    for (const device of DEVICES) {
      const travelling = this.model.travelling.get(device) ?? new Set();
      const known = (labels: Labels) => [...sorted(labels)].filter(([key]) => !travelling.has(key));
      const reads = await Promise.all(this.world.nodes.map((node) => node.read(device)));
      for (const [index, read] of reads.entries()) {
        expect(read && known(read), `node ${index} of ${device}`).toEqual(
          known(this.model.of(device)),
        );
      }
    }
  }

  private nodeOf({ node }: { readonly node: number }): LabelNode {
    return this.world.nodes[node] as LabelNode;
  }
}

function sorted(labels: Labels): Labels {
  return new Map([...labels].sort(([left], [right]) => (left < right ? -1 : 1)));
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

it('every node decides by the latest write of each label, whatever happens in between (§13.12)', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.boolean(),
      fc.array(anyEvent, { maxLength: 20 }),
      async (isTargeted, events) => {
        const run = new Run(isTargeted);
        for (const event of events) await run.handle(event);
        await run.heal();
      },
    ),
    { numRuns: RUNS, ...(IS_FULL ? {} : { seed: SEED }) },
  );
});

it.each([
  ['has looked at the record', true],
  ['knows nothing of the device', false],
])(
  'a check of a node that is cut off, and %s, is newer than one on its way (§13.12)',
  async (_, isKnown) => {
    const world = new LabelWorld(SKEWS_MS, passTime);
    const [first, cutOff] = world.nodes as [LabelNode, LabelNode];
    const check = async (node: LabelNode, value: string) => {
      await world.pass(STEP_MS);
      await node.check('a', new Map([['tier', value]]), true);
    };
    await first.report('a', new Map([['tier', '1']]));
    if (isKnown) await check(cutOff, '1');
    await cutOff.cutOff();
    await check(first, '2');
    await check(cutOff, '1');
    await world.heal();
    expect(world.ledger.find('a').labels).toEqual(new Map([['tier', '1']]));
  },
);

/** Milliseconds by which the clocks of the nodes are wrong where only the outcome is compared. */
const WRONG_MS = [0, 30_000, -30_000];
const KEYS = Array.from({ length: 24 }, (_, index) => `k${index}`);

const anyWrites = fc.array(
  fc.record({
    kind: fc.constantFrom('report' as const, 'check' as const),
    ...{ node: anyNode, device: anyDevice },
    labels: fc
      .dictionary(fc.constantFrom(...KEYS), fc.constantFrom('1', '2'), { minKeys: 1, maxKeys: 16 })
      .map((labels) => new Map(Object.entries(labels))),
  }),
  { minLength: 1, maxLength: 3 },
);

it('what comes at once, with wrong clocks and more labels than a device may have, agrees with the record in the end', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(anyWrites, fc.boolean()), { maxLength: 8 }),
      async (groups) => {
        const world = new LabelWorld(WRONG_MS, passTime);
        for (const [writes, isDrained] of groups) {
          await world.pass(500);
          const drained = isDrained ? world.drain() : undefined;
          await Promise.all(
            writes.map(({ kind, node, device, labels }) => {
              const at = world.nodes[node] as LabelNode;
              return kind === 'report' ? at.report(device, labels) : at.check(device, labels, true);
            }),
          );
          await drained;
        }
        await world.heal();
        await world.passLong();
        for (const device of DEVICES) {
          const { labels } = world.ledger.find(device);
          const reads = await Promise.all(world.nodes.map((node) => node.read(device)));
          for (const read of reads) expect(read && sorted(read)).toEqual(sorted(labels));
        }
      },
    ),
    { numRuns: RUNS, ...(IS_FULL ? {} : { seed: SEED }) },
  );
});
