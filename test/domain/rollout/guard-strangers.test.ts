// Strangers who invent devices behind one network, against the guards of a plan: for any honest fleet, and as
// many invented devices as they like, a healthy release is never paused (docs/contract.md 27.5, 27.14).

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SIGNALS } from '../../../src/contract/choice.ts';
import { isFailure } from '../../../src/contract/failure.ts';
import type { Signal } from '../../../src/contract/rollout-plan.ts';
import { drivePlan } from '../../../src/domain/rollout/drive-plan.ts';
import { judgeHealth } from '../../../src/domain/rollout/judge-health.ts';
import {
  type NetworkPart,
  NO_SIGNALS,
  type SignalCounts,
  type SilentOthers,
} from '../../../src/domain/rollout/signal-counts.ts';
import { steerPlan } from '../../../src/domain/rollout/steer-plan.ts';
import { PROPERTY_RUNS } from '../../support/property-runs.ts';
import { at, guards, LIVE, planOf, seen } from './plan-fixture.ts';

/** Devices of one network at one check. `reached` were offered the release and installed it, or not. */
type Group = {
  readonly network: number;
  readonly reached: number;
  /** Reached devices that show each signal. */
  readonly shows: Readonly<Record<Signal, number>>;
  readonly others: number;
  readonly silentOthers: number;
};

/** What the honest devices do, and what strangers invent, at one check after another. */
type Check = { readonly honest: readonly Group[]; readonly strangers: Group };

const MINIMUM = 20;
const LIMITS = guards({
  ...{ minimumDevices: MINIMUM, confirmMinutes: 0, failedPercent: 5, revertedPercent: 5 },
  ...{ stuckPercent: 5, silentPercent: 5 },
});
const STRANGERS = 0;

/** Failures that count of one address, of so many devices that were offered the release. */
function countedMax(offered: number): number {
  return Math.max(3, Math.floor(offered / 100));
}

function sumOf(groups: readonly Group[], numberOf: (group: Group) => number): number {
  return groups.reduce((sum, group) => sum + numberOf(group), 0);
}

function hitsOf(groups: readonly Group[], signal: Signal): number {
  const max = countedMax(sumOf(groups, ({ reached }) => reached));
  return sumOf(groups, ({ shows }) =>
    signal === 'failed' ? Math.min(shows.failed, max) : shows[signal],
  );
}

/** Counts groups of devices as the ledger does, by the definitions of docs/contract.md 27.6. */
function countsOf(groups: readonly Group[]): SignalCounts {
  const base = sumOf(groups, ({ reached }) => reached);
  const others = {
    devices: sumOf(groups, (group) => group.others),
    silent: sumOf(groups, (group) => group.silentOthers),
    scale: 1,
  };
  const partOf = (signal: Signal, group: Group): NetworkPart => {
    const rest = groups.filter((each) => each !== group);
    const part = { hits: hitsOf(groups, signal) - hitsOf(rest, signal), base: group.reached };
    const { others, silentOthers } = group;
    return signal === 'silent' ? { ...part, others, silentOthers } : part;
  };
  const networks = SIGNALS.map((signal) => {
    const parts = groups.map((group) => partOf(signal, group));
    return [signal, { count: groups.length, parts }];
  });
  return {
    ...{ offered: base, installed: base, stuckBase: base, silentBase: base, scale: 1, others },
    ...{ failed: hitsOf(groups, 'failed'), reverted: hitsOf(groups, 'reverted') },
    ...{ stuck: hitsOf(groups, 'stuck'), silent: hitsOf(groups, 'silent') },
    networks: Object.fromEntries(networks),
  };
}

/** Joins the groups of each network. */
function joined(groups: readonly Group[]): readonly Group[] {
  const byNetwork = new Map<number, Group>();
  for (const group of groups) {
    const own = byNetwork.get(group.network);
    byNetwork.set(group.network, own === undefined ? group : added(own, group));
  }
  return [...byNetwork.values()];
}

function added(one: Group, other: Group): Group {
  const shows = SIGNALS.map((signal) => [signal, one.shows[signal] + other.shows[signal]]);
  return {
    network: one.network,
    reached: one.reached + other.reached,
    shows: Object.fromEntries(shows),
    others: one.others + other.others,
    silentOthers: one.silentOthers + other.silentOthers,
  };
}

/**
 * Returns whether a release is healthy at every check: by the honest devices outside of the strangers'
 * network, without a look at networks, no guard's condition holds.
 */
function isHealthy(checks: readonly Check[]): boolean {
  let silentOthers: SilentOthers | null = null;
  for (const { honest } of checks) {
    const counts = countsOf(honest.filter(({ network }) => network !== STRANGERS));
    const judged = judgeHealth(
      { ...counts, networks: NO_SIGNALS.networks },
      { guards: LIMITS, tripped: [], silentOthers, isOffered: true },
    );
    if (judged.exceeded.length > 0) return false;
    silentOthers = judged.silentOthers;
  }
  return true;
}

/** Sizes of a group, and the largest share of it that shows a signal. */
type Sizes = { readonly reached: number; readonly others: number; readonly badMax: number };

function group(network: number, { reached, others, badMax }: Sizes): fc.Arbitrary<Group> {
  const some = (size: number) => fc.nat(Math.floor(size * badMax));
  return fc.record({ reached: fc.nat(reached), others: fc.nat(others) }).chain((sizes) =>
    fc.record({
      ...{ network: fc.constant(network), reached: fc.constant(sizes.reached) },
      shows: fc.record({
        ...{ failed: some(sizes.reached), reverted: some(sizes.reached) },
        ...{ stuck: some(sizes.reached), silent: some(sizes.reached) },
      }),
      ...{ others: fc.constant(sizes.others), silentOthers: some(sizes.others) },
    }),
  );
}

/** Devices of which this share is switched off, whether the release has reached them or not. */
function asleep({ shows, ...group }: Group, share: number): Group {
  const silent = Math.round(group.reached * share);
  const silentOthers = Math.round(group.others * share);
  return { ...group, shows: { ...shows, silent }, silentOthers };
}

/** Strangers who harm what they can, who only look well, and who do anything. */
const anyStrangers = fc.oneof(
  group(STRANGERS, { reached: 1000, others: 0, badMax: 1 }),
  group(STRANGERS, { reached: 0, others: 1000, badMax: 0 }),
  group(STRANGERS, { reached: 1000, others: 1000, badMax: 1 }),
);

/** An honest fleet of two networks at least, one of which strangers may use as well. */
const anyChecks = fc
  .record({ first: fc.nat(1), networks: fc.integer({ min: 2, max: 8 }) })
  .chain(({ first, networks }) => {
    const check = fc
      .record({ others: fc.constantFrom(0, 5, 40), asleep: fc.constantFrom(0, 0.3, 0.5) })
      .chain((night) => {
        const sizes = { reached: 40, others: night.others, badMax: 0.05 };
        const honest = Array.from({ length: networks }, (_, index) =>
          group(first + index, sizes).map((each) => asleep(each, night.asleep)),
        );
        return fc.record({ honest: fc.tuple(...honest), strangers: anyStrangers });
      });
    return fc.array(check, { minLength: 2, maxLength: 6 });
  });

/** Drives a plan through these checks; returns the states that it had. */
function play(checks: readonly Check[]) {
  const release = { ...LIVE, rolloutPct: 50 };
  let state = planOf('50:600 100:0', release, { guards: LIMITS, onTrip: 'pause' });
  const states = [state];
  for (const [minute, { honest, strangers }] of checks.entries()) {
    const counts = countsOf(joined([...honest, strangers]));
    const driven = drivePlan(state, release, at(minute), seen(at(minute), counts));
    if (driven.act?.kind === 'pause') throw new Error('The release was paused');
    state = driven.state;
    states.push(state);
    // A person looks, and lets it go on.
    const resumed =
      state.status === 'held' ? steerPlan(state, 'resume', release, at(minute)) : state;
    if (isFailure(resumed)) throw new Error(resumed.message);
    state = minute % 3 === 0 ? resumed : state;
  }
  return states;
}

describe('strangers who invent devices behind one network', () => {
  it('pause no healthy release, however many they invent (§27.5, §27.14)', () => {
    fc.assert(
      fc.property(anyChecks, (checks) => {
        fc.pre(isHealthy(checks));
        expect(play(checks).flatMap(({ tripped }) => tripped)).toEqual([]);
      }),
      { numRuns: PROPERTY_RUNS },
    );
  });

  const NOTHING = { failed: 0, reverted: 0, stuck: 0, silent: 0 };
  const GOOD = (networks: number) =>
    Array.from({ length: networks }, (_, index): Group => {
      return { network: index + 1, reached: 1, shows: NOTHING, others: 0, silentOthers: 0 };
    });
  const strangers: Group = {
    ...{ network: STRANGERS, reached: 200, others: 0, silentOthers: 0 },
    shows: { ...NOTHING, stuck: 200 },
  };
  const last = (honest: readonly Group[]) =>
    play([
      { honest, strangers },
      { honest, strangers },
    ]).at(-1);

  it('change nothing where enough devices are left without them', () => {
    expect(last(GOOD(150))).toMatchObject({ status: 'running', reason: null, waitingFor: null });
  });

  it('hold the plan of a fleet that is too small to judge by, and say so', () => {
    expect(last(GOOD(MINIMUM - 1))).toMatchObject({
      ...{ status: 'held', tripped: [], undecided: ['stuck'] },
      reason: expect.stringContaining('without one network (200 of its 200 devices) 19 devices'),
    });
  });
});
