// Tests the simulated rollouts: that they count as the ledger does, and that a slice of them ends as
// docs/operating/rollout-plans.md says. `npm run bench -- rollouts` plays all of them.

import { describe, expect, it } from 'vitest';
import { DeviceWeek } from '../../bench/suite/fleet/device-hours.ts';
import { type Onlooker, playRollout } from '../../bench/suite/rollouts/play-rollout.ts';
import { SignalCounter } from '../../bench/suite/rollouts/signal-counter.ts';
import type { SimulatedDevice, Trouble } from '../../bench/suite/rollouts/simulated-fleet.ts';
import { BAD, GOOD } from '../../bench/suite/rollouts/simulated-fleet.ts';
import { judgeSeries, playSeries, presetTable } from '../../bench/suite/rollouts.ts';
import { PLAN_PRESET_NAMES } from '../../src/contract/choice.ts';
import { USUAL_GUARDS } from '../../src/domain/rollout/judge-health.ts';
import type { SignalCounts } from '../../src/domain/rollout/signal-counts.ts';
import { readDocument } from '../docs/document.ts';
import { checkIn, HOUR_MS, iso, MINUTE_MS } from '../store/ledger/fleet-fixture.ts';
import { SignalModel } from '../store/ledger/signal-model.ts';

const DAY_MINUTES = 1440;
const DAY_MS = DAY_MINUTES * MINUTE_MS;
const KNOWN_MINUTES = USUAL_GUARDS.knownForMinutes;
/** Thursday, 16:30: the third day is a weekend. */
const PUBLISHED_MINUTE = 3 * DAY_MINUTES + 16.5 * 60;
const PUBLISHED_AT = PUBLISHED_MINUTE * MINUTE_MS;

/** Everything that can be wrong with a release, much of it. */
const SHARES = { 'dies after': 0.06, 'dies installing': 0.06, cannot: 0.1, 'leaves again': 0.1 };
const ALL: Trouble = {
  name: 'all',
  shares: Object.entries({ ...SHARES, 'cannot and says so': 0.1 }) as Trouble['shares'][number][],
};
/** Address of a company that several devices of the small fleet ask from. */
const COMPANY = 3;

type Count = 'failed' | 'offered' | 'reverted' | 'installed' | 'stuck' | 'stuckBase';

/** Small fleet, with a plan without limits, which goes on whatever happens. */
const SMALL = {
  ...{ devices: 400, invented: 0, strangers: 0, isOffice: false, days: 6, seed: 1, trouble: ALL },
  publishedAtMinute: PUBLISHED_MINUTE,
  plan: {
    guards: USUAL_GUARDS,
    steps: [20, 60, 100].map((rollout) => ({ rollout, holdMinutes: 2 * DAY_MINUTES })),
  },
};

/** Hears the checks of a play, and tells what the model of the ledger's signals makes of them. */
class Ledger {
  private readonly release = {
    ...{ id: 'release', channel: 'stable', version: '1.0.0' },
    ...{ publishedAt: PUBLISHED_AT, isRolledBack: false },
  };
  private readonly model = new SignalModel([this.release], {}, 5 * MINUTE_MS);
  private readonly failures = new Map<string, number>();
  readonly begun: number[] = [];

  check(device: SimulatedDevice, at: number, isOffered: boolean, hasFailed: boolean): void {
    const { id, firstSeen, versionBefore, address } = device;
    const before = versionBefore === 0 ? '1.0.0-rc.1' : '0.9.0';
    const add = (parts: Partial<Parameters<typeof checkIn>[2]>) =>
      this.model.add(checkIn({ appId: 'app' }, id, { version: before, ...parts }));
    if (!this.model.devices.has(id) && firstSeen < PUBLISHED_AT) add({ at: firstSeen });
    add({
      at,
      version: device.runs === 'release' ? this.release.version : before,
      offeredReleaseId: isOffered ? this.release.id : undefined,
    });
    if (hasFailed) this.failures.set(id, address);
  }

  /** Adds up what src/store/ledger/rollout/rollout-signals.ts does; of so few devices all are looked at. */
  countsAt(now: number): Omit<SignalCounts, 'networks'> {
    const sums = { offered: 0, installed: 0, reverted: 0 };
    for (const [key, devices] of Object.entries(this.model.cells())) {
      const [, kind, known] = key.split(' ');
      if (Number(known) < KNOWN_MINUTES) continue;
      if (kind === 'offered' || kind === 'installed' || kind === 'reverted') sums[kind] += devices;
    }
    const lookedAt = this.model.lookedAt('release', now, DAY_MS, DAY_MS, KNOWN_MINUTES);
    const since = this.since(now);
    const isSilent = ({ lastSeen }: { readonly lastSeen: number }) => lastSeen <= now - DAY_MS;
    const asked = [...this.model.devices.values()].filter(({ lastSeen }) => lastSeen >= since);
    const others = asked.filter(
      ({ did, firstSeen }) => !did.has('release') && firstSeen <= PUBLISHED_AT - DAY_MS,
    );
    const base = this.reachedLongAgo(now).filter(({ lastSeen }) => lastSeen >= since);
    return {
      ...{ ...sums, ...lookedAt, failed: this.countFailed(), scale: 1 },
      others: { devices: others.length, silent: others.filter(isSilent).length, scale: 1 },
      compared: { hits: base.filter(isSilent).length, base: base.length },
    };
  }

  /** Times at which known devices were reached that may be silent, each with when it was seen last. */
  private reachedLongAgo(now: number) {
    return [...this.model.devices.values()].flatMap(({ lastSeen, did }) => {
      const done = did.get('release');
      if (done === undefined || done.known < KNOWN_MINUTES) return [];
      const at = Math.min(done.offeredAt ?? now, done.installedAt ?? now);
      return at <= now - DAY_MS ? [{ at, lastSeen }] : [];
    });
  }

  /** When the step began in which most of the devices were reached that may be silent. */
  private since(now: number): number {
    const starts = [PUBLISHED_AT, ...this.begun];
    const sizes = starts.map(() => 0);
    for (const { at } of this.reachedLongAgo(now)) {
      const step = starts.findLastIndex((begun) => begun <= at);
      sizes[step] = (sizes[step] ?? 0) + 1;
    }
    return starts[sizes.indexOf(Math.max(...sizes))] ?? PUBLISHED_AT;
  }

  /** Three failures of an address count, or 1 % of the devices that were offered the release. */
  private countFailed(): number {
    const byAddress = new Map<number, number>();
    let offered = 0;
    for (const [id, { did }] of this.model.devices) {
      const { known = -1, offeredAt } = did.get('release') ?? {};
      if (known < KNOWN_MINUTES || offeredAt === undefined) continue;
      offered += 1;
      const address = this.failures.get(id);
      if (address !== undefined) byAddress.set(address, (byAddress.get(address) ?? 0) + 1);
    }
    const max = Math.max(3, Math.floor(offered / 100));
    return [...byAddress.values()].reduce((sum, devices) => sum + Math.min(devices, max), 0);
  }
}

describe('the counts of a simulated rollout', () => {
  it('are those of the model that the ledger is held against, of each network those that it misses without its devices (§27.5, §27.6)', () => {
    const [ledger, rest] = [new Ledger(), new Ledger()];
    const seen: (readonly [string, Omit<SignalCounts, 'networks'>])[] = [];
    let companyChecks = 0;
    const { counts } = playRollout(SMALL, {
      checked: (device, ...check) => {
        ledger.check(device, ...check);
        if (device.address !== COMPANY) rest.check(device, ...check);
        else companyChecks += 1;
      },
      raised: (at) => void [ledger.begun.push(at), rest.begun.push(at)],
      counted: (at, { networks, ...counted }) => {
        if ((at - PUBLISHED_AT) % HOUR_MS !== 0) return;
        seen.push([iso(at), counted]);
        const whole = ledger.countsAt(at);
        expect(seen.at(-1)).toEqual([iso(at), whole]);
        if ((at - PUBLISHED_AT) % DAY_MS !== 0) return;
        const left = rest.countsAt(at);
        const missing = (hits: Count, base: Count) => ({
          ...{ hits: whole[hits] - left[hits], base: whole[base] - left[base] },
        });
        expect(networks.failed.parts).toContainEqual(missing('failed', 'offered'));
        expect(networks.reverted.parts).toContainEqual(missing('reverted', 'installed'));
        expect(networks.stuck.parts).toContainEqual(missing('stuck', 'stuckBase'));
        expect(networks.silent.parts).toContainEqual({
          hits: (whole.compared?.hits ?? 0) - (left.compared?.hits ?? 0),
          base: (whole.compared?.base ?? 0) - (left.compared?.base ?? 0),
          others: whole.others.devices - left.others.devices,
          silentOthers: whole.others.silent - left.others.silent,
        });
      },
    });
    expect(companyChecks).toBeGreaterThan(10);
    expect(seen.length).toBeGreaterThan(100);
    // Of every signal there was something to count.
    for (const signal of ['failed', 'reverted', 'stuck', 'silent'] as const) {
      expect(Math.max(...seen.map(([, each]) => each[signal]))).toBeGreaterThan(10);
    }
    expect(counts.installed).toBeLessThan(counts.offered);
  });

  it('are the same with 2,000 invented devices, which fail, fall silent and leave again', () => {
    const hourly = (invented: number) => {
      const all: Omit<SignalCounts, 'others' | 'networks'>[] = [];
      // Without the other devices: they are a sample, in which invented ones take the place of real ones.
      const counted: Onlooker['counted'] = (at, { others: _, networks: __, ...counts }) => {
        if ((at - PUBLISHED_AT) % HOUR_MS === 0) all.push(counts);
      };
      playRollout({ ...SMALL, invented }, { counted });
      return all;
    };
    expect(hourly(2000)).toEqual(hourly(0));
  });
});

it('devices that are looked at are fewer, the more a release reaches, and so are their counts', () => {
  const count = (reachedLookedAt: number) => {
    const counter = new SignalCounter({
      devices: Array.from({ length: 100 }, (_, device) => {
        return { isKnown: true, hash: (device / 100) * 2 ** 32, network: device };
      }),
      ...{ minutes: 20, stuckAfterMinutes: 2, silentAfterMinutes: 2 },
      ...{ reachedLookedAt, othersLookedAt: 100 },
    });
    for (let minute = 0; minute < 10; minute++) {
      counter.counts(minute);
      // Ten more devices are offered the release in each minute; every other one is seen again.
      for (let device = 0; device < 10 * (minute + 1); device++) {
        const isAsking = device >= 10 * minute || device % 2 === 0;
        if (isAsking) counter.record(device, minute * MINUTE_MS + 1000, 'below', true);
      }
    }
    return counter.counts(10);
  };
  const all = { offered: 100, scale: 1, stuckBase: 80, stuck: 35, silentBase: 80, silent: 40 };
  expect(count(100)).toMatchObject(all);
  const half = { offered: 100, scale: 2, stuckBase: 50, stuck: 25, silentBase: 50, silent: 25 };
  expect(count(50)).toMatchObject(half);
});

it('a simulated device is on next at its own hour, in an office on Monday after a weekend', () => {
  const on = (day: number, hour: number, shift: number, isOffice: boolean) =>
    new DeviceWeek().nextOn((day * 24 + hour) * HOUR_MS, shift, isOffice) / HOUR_MS;
  expect([on(1, 12, 0, true), on(1, 23, 0, true)]).toEqual([24 + 12, 2 * 24 + 7]);
  expect([on(4, 19, 0, true), on(6, 12, 1, true)]).toEqual([7 * 24 + 7, 7 * 24 + 8]);
  expect([on(5, 12, 0, false), on(5, 23, Number.NaN, false)]).toEqual([5 * 24 + 12, 5 * 24 + 23]);
});

describe('a slice of the simulated rollouts', () => {
  const good = { name: '', trouble: GOOD, invented: 0, strangers: 0, isOffice: false };
  const series = { ...good, releases: 1, devices: 20_000 };
  const [bricks = GOOD, ...others] = BAD;
  const bricked = { ...series, trouble: bricks };
  const stopped = playSeries('fast', bricked);

  // Good releases of smaller fleets, which take most of the time: to the end.
  it.each([
    ['', {}],
    [' of one office', { isOffice: true }],
    [' beside more devices of strangers than its own', { strangers: 7000 }],
  ])('a good release of a fleet%s completes (§27.5)', (_title, fleet) => {
    const played = playSeries('fast', { ...series, devices: 5000, ...fleet });
    expect(played.map(({ status }) => status)).toEqual(['completed']);
  });

  it.each([
    [bricks.name, bricked, false],
    ...others.map((trouble) => [trouble.name, { ...series, trouble }, false] as const),
    // For a person, not paused (§27.14).
    [`${bricks.name} of one office`, { ...bricked, isOffice: true }, true],
  ] as const)('%s is held under the fast preset', (_title, fleet, isForPerson) => {
    const played = fleet === bricked ? stopped : playSeries('fast', fleet);
    expect(judgeSeries(fleet, played)).toBeUndefined();
    const isPaused = isForPerson ? false : expect.any(Boolean);
    expect(played).toMatchObject([{ status: 'held', isPaused }]);
  });

  it('the document has the presets as they were played', () => {
    const { text } = readDocument('docs/operating/rollout-plans.md');
    expect(text).toContain(presetTable(PLAN_PRESET_NAMES).join('\n'));
  });

  it('what is not as it must be is said', () => {
    expect(judgeSeries(series, stopped)).toBe('1 of 1 stopped');
    const wide = stopped.map((each) => ({ ...each, rolloutPct: 25 }));
    expect(judgeSeries(bricked, wide)).toBe('1 not stopped before 25 %');
    const unfinished = stopped.map((each) => ({ ...each, status: 'running' as const }));
    expect(judgeSeries(series, unfinished)).toBe('1 neither on plan nor stopped');
  });
});
