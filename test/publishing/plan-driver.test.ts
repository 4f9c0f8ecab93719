// Tests the turns in which rollout plans are driven (docs/contract.md 27.2, 27.5).

import { describe, expect, it } from 'vitest';
import { fail, type Outcome } from '../../src/contract/failure.ts';
import type { RolloutPlan } from '../../src/contract/rollout-plan.ts';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { PlanDriver } from '../../src/publishing/plan-driver.ts';
import type { DrivenRollout, PlanLedger, PlanToDrive } from '../../src/store/fleet-ledger.ts';
import type { ChannelRevision } from '../../src/store/ledger-terms.ts';
import { eventually } from '../support/eventually.ts';
import { ledgerAway } from '../support/fake-ledger.ts';

type Driven = Outcome<DrivenRollout, 'unknownPlan'>;

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
};

function setUp({ plans = [], age, time, drive }: SetUp) {
  const calls: string[] = [];
  const seen: (number | undefined)[] = [];
  const propagated: ChannelRevision[] = [];
  const warnings: object[] = [];
  const metrics = new Metrics();
  const log = { warn: (details: object) => void warnings.push(details), debug() {}, error() {} };
  const ledger: Pick<PlanLedger, 'countPlanTime' | 'listPlansToDrive' | 'drivePlan'> = {
    async countPlanTime() {
      calls.push('time');
      const countedMs = (await time?.()) ?? COUNTED_MS;
      return { nowMs: 0, countedMs };
    },
    async listPlansToDrive(checkMs, countMax) {
      calls.push(`list ${checkMs} ${countMax}`);
      return plans.map(planToDrive);
    },
    async drivePlan({ id }, seenUpToMs) {
      calls.push(id);
      seen.push(seenUpToMs);
      return (await drive?.(id)) ?? driven();
    },
  };
  const queue = {
    async ageOfCheckIns() {
      calls.push('age');
      return (await age?.()) ?? 0;
    },
  };
  const driver = new PlanDriver({
    ...{ ledger, queue, metrics, log },
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
    expect(seen).toEqual([COUNTED_MS - 3000 - BUFFERED_MS]);
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

  it('drives two plans at a time, each once', async () => {
    let present = 0;
    let most = 0;
    const drive = async () => {
      most = Math.max(most, ++present);
      await new Promise(setImmediate);
      present--;
      return driven();
    };
    const plans = Array.from({ length: 9 }, (_, index) => `plan ${index}`);
    const { driver, calls } = setUp({ plans, drive });
    await driver.turn();
    expect(most).toBe(2);
    expect(calls.slice(3)).toEqual(plans);
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

  it('takes its next turn when the ledger is there again', async () => {
    let turns = 0;
    const time = async () => {
      if (turns++ === 0) throw ledgerAway();
      return COUNTED_MS;
    };
    const { driver, calls } = setUp({ plans: ['a'], time });
    driver.start();
    await eventually('a plan was driven', async () => calls.includes('a'), 5000);
    await driver.stop();
    expect(calls.filter((call) => call === 'a')).toEqual(['a']);
  });
});

describe('many plans that are due at once (§27.2)', () => {
  it('are driven turn after turn without a rest, while the list is full', async () => {
    const waiting = Array.from({ length: 400 }, (_, index) => `plan ${index}`);
    const driven: string[] = [];
    let turns = 0;
    const driver = new PlanDriver({
      ledger: {
        countPlanTime: async () => ({ nowMs: 0, countedMs: COUNTED_MS }),
        listPlansToDrive: async (_checkMs, countMax) => {
          turns++;
          return waiting.splice(0, countMax).map(planToDrive);
        },
        drivePlan: async ({ id }) => {
          driven.push(id);
          return fail('unknownPlan', 'No plan');
        },
      },
      queue: { ageOfCheckIns: async () => 0 },
      propagate: async () => {},
      ...{ metrics: new Metrics(), log: createLog('silent') },
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
