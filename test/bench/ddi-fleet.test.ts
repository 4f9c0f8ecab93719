// Tests the simulated fleet that speaks DDI: its devices behave as SWUpdate and rauc-hawkbit-updater, tell
// what they run, and notice an action that they must not get. `npm run bench -- rollouts --ddi` plays it.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { seededRandom } from '../../bench/random.ts';
import { DdiFleet } from '../../bench/suite/rollouts/ddi-fleet.ts';
import type { DdiIdentity, DdiReply, DdiWorld } from '../../bench/suite/rollouts/ddi-gateway.ts';
import { DdiRecord } from '../../bench/suite/rollouts/ddi-record.ts';
import { judgeDdi } from '../../bench/suite/rollouts/ddi-report.ts';
import { BAD_SHARES, GOOD_SHARES } from '../../bench/suite/rollouts/play-ddi.ts';
import { ddiSettings } from '../../bench/suite/rollouts.ts';
import { HOUR_MS, MINUTE_MS } from '../store/ledger/fleet-fixture.ts';
import type { Json } from '../support/tenant.ts';

const DEVICES = 200;
const [OLD, NEW] = ['1.0.0', '1.1.0'];
const ENDED = { isPaused: true, installs: 1, minutes: 1 };
const SHARES = { fails: 0.1, fallsBack: 0.1 };

/** Time that goes on only when nobody has anything to do. */
class Clock {
  now = 0;
  private readonly waiting: { readonly at: number; readonly wake: () => void }[] = [];

  pause(ms: number): Promise<void> {
    return new Promise((wake) => this.waiting.push({ at: this.now + ms, wake }));
  }

  async runUntil(end: number): Promise<void> {
    while (this.now < end) {
      await nextTurn();
      const due = Math.min(end, ...this.waiting.map(({ at }) => at));
      this.now = due;
      const ready = this.waiting.filter(({ at }) => at <= due);
      this.waiting.splice(
        0,
        Number.POSITIVE_INFINITY,
        ...this.waiting.filter(({ at }) => at > due),
      );
      for (const { wake } of ready) wake();
    }
    await nextTurn();
  }
}

/** What a service knows of one device, and how often it was polled. */
type Known = { told?: string; hasToldNew: boolean; isBarred: boolean; polls: number };

/** Service with one release for all; one that is forgetful lists an action again that was closed. */
class FakeService {
  readonly devices = new Map<string, Known>();
  readonly addresses = new Set<string>();
  isOffering = true;
  isForgetful = false;
  /** Closings of each client that are refused by 429 before one is taken. */
  refusalsMax = 0;
  /** Closings that were sent, by client. */
  readonly closings = new Map<string, number>();

  readonly ask: DdiWorld['ask'] = async (device, method, address, body) =>
    this.answer(device, method, address.slice(address.indexOf(device.id)), body);

  private know({ id, address }: DdiIdentity): Known {
    this.addresses.add(address);
    const known = this.devices.get(id) ?? { hasToldNew: false, isBarred: false, polls: 0 };
    this.devices.set(id, known);
    return known;
  }

  private answer(device: DdiIdentity, method: string, place: string, body: Json = {}): DdiReply {
    const known = this.know(device);
    const below = place.slice(place.indexOf('/') + 1);
    if (method === 'PUT') return this.hear(known, (body.data as { version: string }).version);
    if (method === 'POST') return this.take(known, device.client, body.status as Json);
    const action = { id: '11', deployment: { chunks: [{ version: NEW }] } };
    return below === 'deploymentBase/11' ? reply(action) : this.poll(known, place);
  }

  private poll(known: Known, id: string): DdiReply {
    known.polls += 1;
    const isListed =
      this.isOffering && known.told !== undefined && known.told !== NEW && !known.isBarred;
    const href = `http://service/ddi/app/stable/controller/v1/${id}/deploymentBase/11`;
    // It asks at first and, as a service does after a success, of those who have not told the new version.
    const isAsking = known.told === undefined || (known.isBarred && !known.hasToldNew);
    const links = {
      ...(isAsking && { configData: {} }),
      ...(isListed && { deploymentBase: { href } }),
    };
    return reply({ config: { polling: { sleep: '00:01:00' } }, _links: links });
  }

  private hear(known: Known, version: string): DdiReply {
    if (known.hasToldNew && version !== NEW) Object.assign(known, { isBarred: false });
    known.hasToldNew = version === NEW;
    known.told = version;
    return reply();
  }

  private take(known: Known, client: string, { execution }: Json): DdiReply {
    if (execution !== 'closed') return reply();
    const closings = (this.closings.get(client) ?? 0) + 1;
    this.closings.set(client, closings);
    if (closings <= this.refusalsMax) return { status: 429, text: '' };
    known.isBarred = !this.isForgetful;
    return reply();
  }
}

function reply(body?: unknown): DdiReply {
  return { status: 200, text: JSON.stringify(body) ?? '' };
}

/** Plays a fleet for an hour in which a service offers the release, and says what became of it. */
async function played(service: FakeService, shares = SHARES, devices = DEVICES) {
  const clock = new Clock();
  const record = new DdiRecord();
  const fleet = new DdiFleet(devices, OLD, {
    ...{ record, shares: new Map([[NEW, shares]]), ask: service.ask },
    ...{ retryAfterMs: HOUR_MS, installMs: 2 * MINUTE_MS, random: seededRandom(1) },
    ...{ now: () => clock.now, pause: (ms: number) => clock.pause(ms) },
  });
  const lives = fleet.live(MINUTE_MS);
  await clock.runUntil(30 * MINUTE_MS);
  service.isOffering = false;
  await clock.runUntil(HOUR_MS);
  fleet.end();
  await clock.runUntil(HOUR_MS + 10 * MINUTE_MS);
  await lives;
  return { record, counts: record.of(NEW), fleet };
}

it('each device installs a release once, unless it falls back after it has told the new version', async () => {
  const service = new FakeService();
  const { record, counts, fleet } = await played(service);
  expect(counts).toMatchObject({ barred: 0, installs: DEVICES + counts.again });
  expect([counts.failures / DEVICES, record.known, record.refusals.size]).toEqual([
    ...[expect.closeTo(SHARES.fails, 1), DEVICES, 0],
  ]);
  // Half of those that fall back, SWUpdate, tell both versions, and get it again and again.
  expect(counts.fellBack).toBeGreaterThan(SHARES.fallsBack * DEVICES * 0.8);
  expect(counts.again).toBeGreaterThan(0);
  const isOld = [...service.devices.values()].filter(({ told }) => told === OLD).length;
  expect(fleet.countOn(NEW)).toBe(DEVICES - isOld);
  expect(isOld / DEVICES).toBeCloseTo(SHARES.fails + SHARES.fallsBack, 1);
  expect(service.addresses.size).toBe(DEVICES / 2);
});

it('a service that lists again what was closed is found out', async () => {
  const service = new FakeService();
  service.isForgetful = true;
  const { counts } = await played(service, { fails: 1, fallsBack: 0 }, 10);
  expect(counts.barred).toBe(counts.installs - 10);
  const plan = { status: 'held', reason: null };
  const release = { version: NEW, shares: BAD_SHARES, plan, ...ENDED, rolloutPct: 10 };
  expect(judgeDdi(release, counts)).toEqual([
    `1.1.0: ${counts.barred} actions of devices that must not get one`,
  ]);
});

it('a closing that is refused by 429 is sent again, by SWUpdate at its next polls', async () => {
  const service = new FakeService();
  service.refusalsMax = 5;
  const { counts, record } = await played(service, { fails: 0, fallsBack: 0 }, 2);
  expect(counts).toMatchObject({ installs: 2, successes: 2, again: 0, barred: 0 });
  expect(Object.fromEntries(service.closings)).toEqual({ SWUpdate: 6, 'rauc-hawkbit-updater': 6 });
  expect([...record.refusals]).toEqual([['POST: 429', 5]]);
});

it('a bad release must be held, a good one completed, and both installed (§27.5)', () => {
  const counts = { ...new DdiRecord().of(NEW), installs: 1 };
  const judge = (shares: typeof SHARES, status: string, rolloutPct: number, installs = 1) => {
    const plan = { status, reason: null };
    const release = {
      version: NEW,
      shares,
      plan,
      ...ENDED,
      rolloutPct,
      isPaused: status === 'held',
    };
    return judgeDdi(release, { ...counts, installs });
  };
  expect([judge(GOOD_SHARES, 'completed', 100), judge(BAD_SHARES, 'held', 50)]).toEqual([[], []]);
  expect(judge(GOOD_SHARES, 'held', 50)).toEqual(['1.1.0: held at 50 %']);
  expect(judge(BAD_SHARES, 'completed', 100, 0)).toEqual([
    ...['1.1.0: completed at 100 %', '1.1.0: nobody installed it'],
  ]);
});

it('a larger fleet polls more seldom, and its steps are held for two polls and more', () => {
  const settings = (options: Json, isSmoke = false) => ddiSettings({ isSmoke, options });
  expect(settings({})).toBeUndefined();
  expect(settings({ ddi: true }, true)).toMatchObject({ devices: 600 });
  expect(settings({ ddi: true })).toMatchObject({ devices: 20_000, pollSeconds: 27 });
  const full = settings({ ddi: true, devices: 100_000 });
  expect(full).toMatchObject({ pollSeconds: 134, holdMinutes: 6, afterSeconds: 568 });
  expect(() => settings({ devices: 5000 })).toThrow('--devices needs --ddi');
  expect(() => settings({ ddi: true, devices: 5000 }, true)).toThrow('a fleet of its own');
});
