// Tests the turns in which rollout plans are driven (docs/contract.md 27.2, 27.5).

import { describe, expect, it } from 'vitest';
import { fail, type Outcome } from '../../src/contract/failure.ts';
import type { RolloutPlan } from '../../src/contract/rollout-plan.ts';
import type { RecordedUpTo } from '../../src/domain/rollout/drive-plan.ts';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { PlanDriver, type PlanDriverDependencies } from '../../src/publishing/plan-driver.ts';
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

function setUp({
  plans = [],
  age,
  time,
  drive,
  region,
  marks = [],
  isMarkWanted = false,
  connectionsMax = 2,
}: SetUp) {
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
      return plans.map(planToDrive);
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
  return {
    driver,
    calls,
    seen,
    propagated,
    warnings,
    faults: () => metrics.faults.counts.get('plan-drive') ?? 0,
  };
}

describe('a turn', () => {
  it('counts the time before it measures the queue, so that no check-in of before is missing', async () => {
    const { driver, calls, seen } = setUp({ plans: ['a'], age: async () => 3000 });
    await driver.turn();
    expect(calls).toEqual(['time', 'list 15000 100', 'age', 'a']);
    expect(seen).toEqual([{ seenUpToMs: COUNTED_MS - 3000 - BUFFERED_MS }]);
  });

  it('without a plan that is due does not ask for the queue', async () => {
    const { driver, calls } = setUp({});
    await driver.turn();
    expect(calls).toEqual(['time', 'list 15000 100']);
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

  it('propagates what a plan changed, and nothing of a plan that is gone', async () => {
    const drive = async (id: string) =>
      id === 'gone' ? fail('unknownPlan', 'No plan') : driven(change(id));
    const { driver, propagated, faults } = setUp({ plans: ['beta', 'gone', 'stable'], drive });
    await driver.turn();
    expect(propagated.map(({ channel }) => channel).sort()).toEqual(['beta', 'stable']);
    expect(faults()).toBe(0);
  });

  it('logs which guards stopped a rollout, and nothing of a plan that goes on', async () => {
    const drive = async (id: string): Promise<Driven> => ({
      value: { id, reason: 'failed: 9 of 100 devices' } as RolloutPlan,
      changed: [],
      tripped: id === 'bad' ? ['failed'] : [],
    });
    const { driver, warnings } = setUp({ plans: ['good', 'bad'], drive });
    await driver.turn();
    expect(warnings).toEqual([
      expect.objectContaining({
        ...{ plan: 'bad', guards: ['failed'], reason: 'failed: 9 of 100 devices' },
      }),
    ]);
  });

  it('goes on with the other plans when one cannot be driven', async () => {
    const drive = async (id: string) => {
      if (id === 'a') throw ledgerAway();
      if (id === 'b') throw new TypeError('a bug');
      return driven(change(id));
    };
    const { driver, propagated, faults } = setUp({ plans: ['a', 'b', 'c'], drive });
    await driver.turn();
    expect(propagated.map(({ channel }) => channel)).toEqual(['c']);
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
    let present = 0;
    let most = 0;
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

  it('a mark that is not wanted is not noted, and the queue not measured', async () => {
    const { driver, calls } = setUp({ plans: ['a'], region: 'east', marks: [mark('east', 0)] });
    await driver.turn();
    expect(calls).toEqual(['time', 'list 15000 100', 'a']);
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
    let isStopped = false;
    const stopped = driver.stop().then(() => {
      isStopped = true;
    });
    await new Promise(setImmediate);
    expect(isStopped).toBe(false);
    for (const go of waiting) go();
    await stopped;
    expect(calls.slice(-2)).toEqual(['a', 'b']);
    expect(calls.filter((call) => call === 'time')).toHaveLength(1);
  });
});

describe('many plans that are due at once (§27.2)', () => {
  it('are driven turn after turn without a rest, while the list is full', async () => {
    const waiting = Array.from({ length: 400 }, (_, index) => `plan ${index}`);
    const driven: string[] = [];
    let turns = 0;
    const driver = new PlanDriver({
      ledger: {
        beginPlanTurn: async () => ({ nowMs: 0, countedMs: COUNTED_MS, isMarkWanted: false }),
        noteRegion: async () => {},
        listRegions: async () => [],
        listPlansToDrive: async (_checkMs, countMax) => {
          turns++;
          return waiting.splice(0, countMax).map(planToDrive);
        },
        drivePlan: async ({ id }) => {
          driven.push(id);
          return fail('unknownPlan', 'No plan');
        },
      },
      queue: { ageOfCheckIns: async () => 0, nameRegion: async () => undefined },
      propagate: async () => {},
      ...{ connectionsMax: 5, metrics: new Metrics(), log: createLog('silent') },
    });
    expect(await driver.turn()).toBe(true);
    driver.start();
    await eventually('all were driven', async () => driven.length === 400);
    // The turn that finds no more is the first after which the driver rests.
    await eventually('the list is empty', async () => turns === 5);
    await driver.stop();
    expect(new Set(driven).size).toBe(400);
    expect(turns).toBe(5);
  });
});
