// Tests the drain that takes check-ins from the engine into the ledger: nothing is acknowledged before it is
// recorded, a row that the ledger always refuses holds up no other, and at the end nothing stays in an engine
// that ends with its process.

import { afterEach, describe, expect, it } from 'vitest';
import { LIMIT } from '../../src/contract/limit.ts';
import { Unavailable } from '../../src/contract/store-fault.ts';
import type { CheckIn } from '../../src/domain/fleet/check-in.ts';
import type { Admission } from '../../src/fleet/admission.ts';
import { CheckInBuffer } from '../../src/fleet/check-in-buffer.ts';
import { CheckInDrain, type DrainDependencies } from '../../src/fleet/check-in-drain.ts';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import type { CheckInQueue } from '../../src/store/check-in-queue.ts';
import type { Engine } from '../../src/store/engine.ts';
import type { RecordedChecks } from '../../src/store/fleet-ledger.ts';
import type { StoredLabels } from '../../src/store/label-store.ts';
import { createMemoryEngine } from '../../src/store/memory/memory-engine.ts';
import { checkInOf, storedLabelsOf } from '../store/engine/fleet-sample.ts';
import { eventually } from '../support/eventually.ts';
import { ledgerAway } from '../support/fake-ledger.ts';
import { gate } from '../support/gate.ts';
import { openAdmission } from '../support/open-admission.ts';
import { addCheckIn, packCheckIns } from '../support/pack-check-ins.ts';

const ROWS_PER_STATEMENT_MAX = 2000;
const DEADLINE_MS = 1500;
/** Time of the ledger: that of the sample. */
const NOW = checkInOf('').at;
/** Deadline that no test reaches. */
const NEVER_MS = 3_600_000;

/** Events of a test, in their order. */
type Story = string[];

/** A ledger that records check-ins unless it is away, waits at its gate, or gets a poisoned device. */
class RecordingLedger {
  readonly statements: (readonly CheckIn[])[] = [];
  readonly recorded: CheckIn[] = [];
  readonly poisoned = new Set<string>();
  isAway = false;
  /** Promise that statements wait for. */
  gate: Promise<void> | undefined;
  labels: readonly StoredLabels[] = [];
  private readonly story: Story;

  constructor(story: Story) {
    this.story = story;
  }

  async recordChecks(checkIns: readonly CheckIn[]): Promise<RecordedChecks> {
    this.statements.push(checkIns);
    await (this.gate ?? new Promise((resolve) => setImmediate(resolve)));
    if (this.isAway) throw ledgerAway();
    if (checkIns.some(({ deviceId }) => this.poisoned.has(deviceId))) {
      throw new Error('a value that no column can hold');
    }
    this.recorded.push(...checkIns);
    this.story.push('recorded');
    return { labels: this.labels, unadmitted: [], left: [] };
  }

  get devices(): string[] {
    return this.recorded.map(({ deviceId }) => deviceId);
  }
}

/** Memory of a process that remembers nothing. */
const FORGETFUL: DrainDependencies['memory'] = {
  writer: 'drain',
  confirm: async () => undefined,
  sift: (checkIns) => [...checkIns],
  note: () => undefined,
};

const running: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of running.splice(0)) await stop();
});

function setUp() {
  const story: Story = [];
  const engine = createMemoryEngine();
  const ledger = new RecordingLedger(story);
  const metrics = new Metrics();
  const remembered: (readonly StoredLabels[])[] = [];
  const queue = telling(engine, story);
  const drainOf = (admission: Pick<Admission, 'record'> = openAdmission(ledger)) => {
    const drain = new CheckInDrain({
      queue,
      admission,
      memory: FORGETFUL,
      streams: () => [0],
      labels: {
        async remember(entries) {
          if (entries.length > 0) story.push('remembered');
          remembered.push(entries);
        },
        async tellLost(devices) {
          if (devices.length > 0) story.push(`lost ${devices.map(({ deviceId }) => deviceId)}`);
        },
      },
      clock: { now: () => NOW, aheadMs: 0 },
      metrics,
      log: createLog('silent'),
    });
    running.push(() => drain.stop());
    return drain;
  };
  running.push(() => engine.close());
  const count = (outcome: string) => metrics.checkIns.counts.get(outcome) ?? 0;
  const append = async (...devices: string[]) => {
    expect(
      await engine.appendCheckIns(packCheckIns(devices.map((device) => checkInOf(device)))),
    ).toBe('accepted');
  };
  return { story, engine, queue, ledger, metrics, remembered, drainOf, count, append };
}

/** Returns the engine's queue, whose acknowledgements are added to the story. */
function telling(engine: Engine, story: Story): CheckInQueue & { fault: Error | undefined } {
  const queue = {
    fault: undefined as Error | undefined,
    async takeCheckIns(...args: Parameters<Engine['takeCheckIns']>) {
      if (queue.fault !== undefined) throw queue.fault;
      return engine.takeCheckIns(...args);
    },
    acknowledgeCheckIns(ids: readonly string[]) {
      story.push(`acknowledged ${ids.length}`);
      return engine.acknowledgeCheckIns(ids);
    },
  };
  return Object.setPrototypeOf(queue, engine);
}

async function untilEmpty({ engine }: { readonly engine: Engine }): Promise<void> {
  await eventually('the queue is empty', async () => (await engine.countCheckIns()) === 0);
}

function names(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, index) => `device-${from + index}`);
}

describe('what is taken', () => {
  it('is dated now where it is of a later time, and hides nothing that comes after it', async () => {
    const { engine, ledger, drainOf } = setUp();
    const first = { ...checkInOf('d'), version: '1.0.0', at: NOW + 3_600_000 };
    await engine.appendCheckIns(packCheckIns([first]));
    await engine.appendCheckIns(packCheckIns([{ ...first, version: '2.0.0', at: NOW + 5000 }]));
    await drainOf().finish(DEADLINE_MS);
    expect(ledger.recorded.map(({ version }) => version)).toEqual(['2.0.0']);
    expect(ledger.recorded[0]?.at).toBeLessThan(NOW + 2000);
  });

  it('is dropped, and counted, where it is older than an erasure is remembered (§4.23)', async () => {
    const { engine, ledger, drainOf, count } = setUp();
    const oldest = NOW - LIMIT.checkInAgeDaysMax * 86_400_000;
    const batch = [checkInOf('erased?', { at: oldest - 1 }), checkInOf('old', { at: oldest })];
    await engine.appendCheckIns(packCheckIns(batch));
    await drainOf().finish(DEADLINE_MS);
    expect(ledger.devices).toEqual(['old']);
    expect([count('dropped'), count('stored')]).toEqual([1, 1]);
    expect(await engine.takeCheckIns('another', 1, 0, 0)).toEqual([]);
  });

  it('is recorded, told to the label cache, and only then acknowledged', async () => {
    const made = setUp();
    const { story, ledger, remembered, drainOf, count, append } = made;
    ledger.labels = [storedLabelsOf('a', 1)];
    await append('a', 'b');
    await append('c');
    drainOf().start();
    await untilEmpty(made);
    expect(story).toEqual(['recorded', 'remembered', 'acknowledged 2']);
    expect(ledger.devices).toEqual(['a', 'b', 'c']);
    expect(remembered).toEqual([ledger.labels]);
    expect(count('stored')).toBe(3);
  });

  it('says of devices that were not admitted that the labels which they sent are lost', async () => {
    const made = setUp();
    const { story, engine, drainOf, count } = made;
    const unadmitted = ['a', 'b'].map((deviceId) => ({
      ...{ appId: checkInOf(deviceId).appId, deviceId },
      ...{ network: undefined, bound: 'app' as const },
    }));
    const labels = new Map([['battery', '80']]);
    await engine.appendCheckIns(packCheckIns([{ ...checkInOf('a'), labels }, checkInOf('b')]));
    drainOf({ record: async () => ({ labels: [], unadmitted, left: [] }) }).start();
    await untilEmpty(made);
    expect(story).toEqual(['lost a', 'acknowledged 1']);
    expect(count('unadmitted')).toBe(2);
  });

  it('is more batches at a time while they are small, and fewer when they are large', async () => {
    const { engine, ledger, drainOf, append } = setUp();
    for (let batch = 0; batch < 400; batch++) await append(...names(batch * 20, batch * 20 + 20));
    const drain = drainOf();
    drain.start();
    await untilEmpty({ engine });
    const sizes = ledger.statements.map((each) => each.length);
    expect(sizes.slice(0, 4)).toEqual([160, 320, 640, 1280]);
    expect(sizes.length).toBeLessThanOrEqual(9);
    const taken: number[] = [];
    const take = engine.takeCheckIns.bind(engine);
    engine.takeCheckIns = async (...args) => {
      const batches = await take(...args);
      if (batches.length > 0) taken.push(batches.length);
      return batches;
    };
    for (const batches of [40, 70]) {
      const { opened, open } = gate();
      ledger.gate = opened;
      const large = names(0, 2000);
      for (let batch = 0; batch < batches; batch++) await append(...large);
      open();
      await untilEmpty({ engine });
    }
    // What could have been 69: the first of them was taken alone, as soon as it was there.
    expect(Math.max(...taken)).toBe(64);
  });

  it('goes into statements of at most 2000 rows', async () => {
    const made = setUp();
    const { ledger, drainOf, append } = made;
    for (let batch = 0; batch < 16; batch++) await append(...names(batch * 500, batch * 500 + 500));
    drainOf().start();
    await untilEmpty(made);
    expect(ledger.statements.map(({ length }) => length)).toEqual(
      [1, 2, 3, 4].map(() => ROWS_PER_STATEMENT_MAX),
    );
    expect(new Set(ledger.devices).size).toBe(8000);
  });
});

describe('when a store is away', () => {
  it('the ledger: nothing is acknowledged, and the same is recorded once it is back', async () => {
    const made = setUp();
    const { story, engine, ledger, metrics, drainOf, count, append } = made;
    ledger.isAway = true;
    await append('a', 'b');
    drainOf().start();
    await eventually('it was tried three times', () => ledger.statements.length >= 3);
    await append('c');
    expect(story).toEqual([]);
    expect(await engine.countCheckIns()).toBe(2);
    expect(new Set(ledger.statements.map((each) => JSON.stringify(each))).size).toBe(1);
    expect(metrics.faults.counts.get('check-in-record')).toBeGreaterThanOrEqual(2);
    ledger.isAway = false;
    await untilEmpty(made);
    expect(ledger.devices).toEqual(['a', 'b', 'c']);
    expect(count('stored')).toBe(3);
    expect(count('dropped')).toBe(0);
  });

  it('the engine: it is asked again until it is back', async () => {
    const made = setUp();
    const { queue, ledger, metrics, drainOf, append } = made;
    queue.fault = new Unavailable('engine', 'connection refused');
    drainOf().start();
    await eventually(
      'it was asked twice',
      () => (metrics.faults.counts.get('check-in-take') ?? 0) > 1,
    );
    queue.fault = undefined;
    await append('a');
    await untilEmpty(made);
    expect(ledger.devices).toEqual(['a']);
  });
});

describe('a row that the ledger refuses for ever', () => {
  it.each([[0], [31], [63], [3, 4, 50]])(
    'is dropped alone and counted, at places %j of 64',
    async (...places) => {
      const made = setUp();
      const { engine, ledger, drainOf, count, append } = made;
      const all = names(0, 64);
      const bad = places.map((place) => all[place] as string);
      for (const device of bad) ledger.poisoned.add(device);
      await append(...all.slice(0, 40));
      await append(...all.slice(40));
      drainOf().start();
      await untilEmpty(made);
      expect(ledger.devices).toEqual(all.filter((device) => !bad.includes(device)));
      expect([count('stored'), count('dropped')]).toEqual([64 - bad.length, bad.length]);
      expect(await engine.countCheckIns()).toBe(0);
      // The batch is halved down to one row, which takes far fewer statements than rows.
      if (bad.length === 1) expect(ledger.statements.length).toBe(1 + 2 * Math.log2(64));
    },
  );
});

describe('at the end of a process whose engine ends with it', () => {
  it('also what came while the drain was waiting, whatever the moment', async () => {
    for (let round = 0; round < 8; round++) {
      const { engine, queue, metrics, ledger, drainOf } = setUp();
      const live = { notePacked: () => undefined };
      const checkIns = new CheckInBuffer(queue, live, metrics, createLog('silent'));
      const drain = drainOf();
      drain.start();
      for (let turn = 0; turn < round; turn++) await Promise.resolve();
      for (const device of names(0, 1200)) {
        addCheckIn(checkIns, checkInOf(device));
      }
      await checkIns.stop();
      for (let turn = 0; turn < round; turn++) await Promise.resolve();
      await drain.finish(DEADLINE_MS);
      expect(await engine.countCheckIns()).toBe(0);
      expect(ledger.devices).toEqual(names(0, 1200));
    }
  });

  it('also what the drain had in hand when the ledger failed it', async () => {
    const { engine, ledger, metrics, drainOf, append } = setUp();
    ledger.isAway = true;
    await append('a', 'b');
    const drain = drainOf();
    drain.start();
    await eventually('it failed', () => metrics.faults.counts.has('check-in-record'));
    await append('c');
    ledger.isAway = false;
    await drain.finish(DEADLINE_MS);
    expect(ledger.devices).toEqual(['a', 'b', 'c']);
    expect(await engine.countCheckIns()).toBe(0);
  });

  it('with the ledger away it ends long before its time, and drops nothing that it would have to count', async () => {
    const { engine, ledger, drainOf, count, append } = setUp();
    ledger.isAway = true;
    await append('a');
    await drainOf().finish(NEVER_MS);
    expect(await engine.countCheckIns()).toBe(1);
    expect(count('dropped')).toBe(0);
  });
});
