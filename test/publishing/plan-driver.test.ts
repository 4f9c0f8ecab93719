// Tests the turns in which rollout plans are driven (docs/contract.md 27.2, 27.5).

import { describe, expect, it } from 'vitest';
import { fail, type Outcome } from '../../src/contract/failure.ts';
import type { RolloutPlan } from '../../src/contract/rollout-plan.ts';
import type { RecordedUpTo } from '../../src/domain/rollout/drive-plan.ts';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import {
  PlanDriver,
  type PlanDriverDependencies,
  watchPlans,
} from '../../src/publishing/plan-driver.ts';
import type { DrivenRollout, PlanToDrive, RegionMark } from '../../src/store/fleet-ledger.ts';
import type { ChannelRevision } from '../../src/store/ledger-terms.ts';
import { eventually } from '../support/eventually.ts';
import { ledgerAway } from '../support/fake-ledger.ts';

type Driven = Outcome<DrivenRollout>;

const COUNTED_MS = 1_000_000;
/** Milliseconds for which a check-in may lie in its node, as docs/architecture.md has them. */
const BUFFERED_MS = 250;

function planToDrive(id: string): PlanToDrive {
  return { id, app: 'notes', channel: 'stable', canonicalVersion: '1.0.0' };
}

function change(channel: string): ChannelRevision {
  return { appRef: 'notes', channel, channelId: `chn_${channel}`, epoch: 1, revision: 1 };
}

function driven(...changed: ChannelRevision[]): Driven {
  return { value: {} as RolloutPlan, changed, tripped: [] };
}

type SetUp = {
  plans?: readonly string[];
  age?: () => Promise<number>;
  time?: () => Promise<number>;
  drive?: (id: string) => Promise<Driven>;
  region?: string;
  marks?: readonly RegionMark[];
  isMarkWanted?: boolean;
  connectionsMax?: number;
};

function setUp({ plans = [], age, time, drive, region, marks = [], ...parts }: SetUp) {
  const { isMarkWanted = false, connectionsMax = 2 } = parts;
  const due = [...plans];
  const calls: string[] = [];
  const seen: (RecordedUpTo | undefined)[] = [];
  const propagated: ChannelRevision[] = [];
  const warnings: object[] = [];
  const metrics = new Metrics();
  const log = { warn: (details: object) => void warnings.push(details), debug() {}, error() {} };
  const ledger: PlanDriverDependencies['ledger'] = {
    async beginPlanTurn(own) {
      calls.push(own === undefined ? 'time' : `time ${own}`);
      const countedMs = (await time?.()) ?? COUNTED_MS;
      return { nowMs: 0, countedMs, isMarkWanted };
    },
    async noteRegion(own, recordedMs) {
      calls.push(`note ${own} ${recordedMs}`);
    },
    async listRegions() {
      return marks;
    },
    async listPlansToDrive(checkMs, countMax) {
      calls.push(`list ${checkMs} ${countMax}`);
      return (plans.length > countMax ? due.splice(0, countMax) : plans).map(planToDrive);
    },
    async drivePlan({ id }, recorded) {
      calls.push(id);
      seen.push(recorded);
      return (await drive?.(id)) ?? driven();
    },
  };
  const queue = {
    async ageOfCheckIns() {
      calls.push('age');
      return (await age?.()) ?? 0;
    },
    nameRegion: async () => region,
  };
  const driver = new PlanDriver({
    ...{ ledger, queue, connectionsMax, metrics, log },
    propagate: async (changed) => {
      propagated.push(...changed);
    },
  });
  const faults = () => metrics.faults.counts.get('plan-drive') ?? 0;
  return { driver, calls, seen, propagated, warnings, faults };
}

describe('a turn', () => {
  it('counts the time before it measures the queue, so that no check-in of before is missing', async () => {
    const { driver, calls, seen } = setUp({ plans: ['a'], age: async () => 3000 });
    await driver.turn();
    expect(calls).toEqual(['time', 'list 15000 100', 'age', 'a']);
    expect(seen).toEqual([{ seenUpToMs: COUNTED_MS - 3000 - BUFFERED_MS }]);
  });

  it('drives without evidence while the queue cannot be measured: plans are seen to, no step begins', async () => {
    const age = async () => {
      throw ledgerAway();
    };
    const { driver, seen, faults } = setUp({ plans: ['a'], age });
    await driver.turn();
    expect(seen).toEqual([undefined]);
    expect(faults()).toBe(1);
  });

  it('logs which guards stopped a rollout, and nothing of a plan that goes on', async () => {
    const drive = async (id: string): Promise<Driven> => ({
      value: { id, reason: 'failed: 9 of 100 devices' } as RolloutPlan,
      changed: [],
      tripped: id === 'bad' ? ['failed'] : [],
    });
    const { driver, warnings } = setUp({ plans: ['good', 'bad'], drive });
    await driver.turn();
    expect(warnings).toMatchObject([
      { plan: 'bad', guards: ['failed'], reason: 'failed: 9 of 100 devices' },
    ]);
  });

  it('propagates what each plan changed, also when others cannot be driven or are gone', async () => {
    const drive = async (id: string) => {
      if (id === 'away') throw ledgerAway();
      if (id === 'bug') throw new TypeError('a bug');
      return id === 'gone' ? fail('unknownPlan', 'No plan') : driven(change(id));
    };
    const plans = ['away', 'bug', 'beta', 'gone', 'stable'];
    const { driver, propagated, faults } = setUp({ plans, drive });
    await driver.turn();
    expect(propagated.map(({ channel }) => channel).sort()).toEqual(['beta', 'stable']);
    expect(faults()).toBe(2);
  });

  it('does not reject while the ledger is away', async () => {
    const time = async () => {
      throw ledgerAway();
    };
    const { driver, calls, faults } = setUp({ plans: ['a'], time });
    await driver.turn();
    expect(calls).toEqual(['time']);
    expect(faults()).toBe(1);
  });

  it.each([
    [10, 4],
    [2, 2],
  ])('with %d connections drives %d plans at a time, each once', async (connectionsMax, wanted) => {
    let [present, most] = [0, 0];
    const drive = async () => {
      most = Math.max(most, ++present);
      await new Promise(setImmediate);
      present--;
      return driven();
    };
    const plans = Array.from({ length: 9 }, (_, index) => `plan ${index}`);
    const { driver, calls } = setUp({ plans, drive, connectionsMax });
    await driver.turn();
    expect(most).toBe(wanted);
    expect(calls.slice(3)).toEqual(plans);
  });
});

/** Mark of a region that has recorded all but the last so many milliseconds. */
function mark(region: string, behindMs: number, isSilent = false): RegionMark {
  const notedAt = '2027-01-01T00:00:00.000Z';
  return { region, recordedMs: COUNTED_MS - behindMs, notedAt, isSilent };
}

describe('regions (§27.13)', () => {
  it('a plan is driven by what the region has recorded that is furthest behind', async () => {
    const marks = [mark('east', 300), mark('west', 9000), mark('north', 400)];
    const { driver, seen } = setUp({ plans: ['a', 'b'], region: 'east', marks });
    await driver.turn();
    const west = { region: 'west', seenUpToMs: COUNTED_MS - 9000 };
    expect(seen).toEqual([west, west]);
  });

  it('a node notes how far its region has recorded when that is wanted, before it reads the marks', async () => {
    const parts = { region: 'east', isMarkWanted: true, age: async () => 3000 };
    const { driver, calls } = setUp({ plans: ['a'], marks: [mark('east', 0)], ...parts });
    await driver.turn();
    const noted = `note east ${COUNTED_MS - 3000 - BUFFERED_MS}`;
    expect(calls).toEqual(['time', 'age', noted, 'list 15000 100', 'a']);
    await driver.turn();
    expect(calls.slice(5, 7)).toEqual(['time east', 'age']);
  });

  it('the queue is not measured for a mark that is not wanted, nor without a plan that is due', async () => {
    for (const parts of [{ plans: ['a'], region: 'east', marks: [mark('east', 0)] }, {}]) {
      const { driver, calls } = setUp(parts);
      await driver.turn();
      expect(calls).toEqual(['time', 'list 15000 100', ...(parts.plans ?? [])]);
    }
  });

  it('a region that is silent does not count, and the log says so once; its own region does', async () => {
    const marks = [mark('west', 9_000_000, true), mark('east', 4_000_000, true), mark('north', 1)];
    const { driver, seen, warnings } = setUp({ plans: ['a'], region: 'east', marks });
    await driver.turn();
    await driver.turn();
    const east = { region: 'east', seenUpToMs: COUNTED_MS - 4_000_000 };
    expect(seen).toEqual([east, east]);
    expect(warnings).toEqual([{ region: 'west', silentSince: '2027-01-01T00:00:00.000Z' }]);
  });

  it('no step begins before a node has the mark of its own region', async () => {
    const { driver, seen } = setUp({ plans: ['a'], region: 'east', marks: [mark('west', 1)] });
    await driver.turn();
    expect(seen).toEqual([undefined]);
  });

  it('a mark that cannot be noted holds no plan up: it is driven by the mark before', async () => {
    const age = async () => {
      throw ledgerAway();
    };
    const parts = { region: 'east', marks: [mark('east', 5000)], isMarkWanted: true, age };
    const { driver, seen, faults } = setUp({ plans: ['a'], ...parts });
    await driver.turn();
    expect(seen).toEqual([{ region: 'east', seenUpToMs: COUNTED_MS - 5000 }]);
    expect(faults()).toBe(1);
  });

  it('a queue of one process waits for the regions as well, and notes nothing', async () => {
    const parts = { marks: [mark('west', 9000)], isMarkWanted: true };
    const { driver, calls, seen } = setUp({ plans: ['a'], ...parts });
    await driver.turn();
    expect(seen).toEqual([{ region: 'west', seenUpToMs: COUNTED_MS - 9000 }]);
    expect(calls).toEqual(['time', 'list 15000 100', 'age', 'a']);
  });
});

describe('a driver', () => {
  it('stops after the plans under way, and begins no other', async () => {
    const waiting: (() => void)[] = [];
    const drive = async () => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return driven();
    };
    const { driver, calls } = setUp({ plans: ['a', 'b', 'c'], drive });
    driver.start();
    // A second start begins no second loop.
    driver.start();
    await eventually('two plans are under way', async () => waiting.length === 2);
    const stopped = driver.stop();
    const before = await Promise.race([stopped, new Promise((go) => setImmediate(go, 'running'))]);
    expect(before).toBe('running');
    for (const go of waiting) go();
    await stopped;
    expect(calls.slice(-2)).toEqual(['a', 'b']);
    expect(calls.filter((call) => call === 'time')).toHaveLength(1);
  });
});

it('many plans that are due at once are driven turn after turn without a rest, while the list is full (§27.2)', async () => {
  const plans = Array.from({ length: 400 }, (_, index) => `plan ${index}`);
  const { driver, calls } = setUp({ plans, connectionsMax: 5 });
  const turns = () => calls.filter((call) => call === 'time').length;
  expect(await driver.turn()).toBe(true);
  driver.start();
  // The turn that finds no more is the first after which the driver rests.
  await eventually('the list is empty', async () => turns() === 5);
  await driver.stop();
  expect(calls.filter((call) => call.startsWith('plan '))).toHaveLength(400);
  expect(new Set(calls).size).toBeGreaterThan(400);
  expect(turns()).toBe(5);
});

it('open plans are counted by state; without the ledger the last counts stay', async () => {
  const metrics = new Metrics();
  const none = { scheduled: 0, running: 0, waiting: 0, late: 0, held: 0, tripped: 0 };
  const answers = [async () => ({ ...none, tripped: 2 }), () => Promise.reject(ledgerAway())];
  const ledger = { countPlans: () => (answers.shift() ?? ledgerAway)() as never };
  const watch = watchPlans({ ledger, metrics, log: createLog('silent') });
  for (const count of ['0', '2', '2']) {
    const text = await metrics.registry.metrics();
    expect(/sluice_plans\{state="tripped".*\} (\d)/.exec(text)?.[1]).toBe(count);
    if (answers.length > 0) await watch.turn();
  }
  expect(metrics.faults.counts.get('plan-drive')).toBe(1);
});
