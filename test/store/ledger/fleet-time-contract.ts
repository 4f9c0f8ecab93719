// Rules of the ledger for time: its own clock orders what is recorded, whatever the clocks of the nodes say.

import { afterEach, expect, test } from 'vitest';
import { ADOPTION_STEPS } from '../../../src/contract/resource.ts';
import { type CheckIn, coalesceCheckIns } from '../../../src/domain/fleet/check-in.ts';
import {
  checkIn,
  HOUR_MS,
  iso,
  labelsOf,
  MINUTE_MS,
  placeOf,
  randomFrom,
  recount,
  START,
  setFleetTime,
} from './fleet-fixture.ts';
import { FleetModel } from './fleet-model.ts';
import { createTenant, expectValue, type TestTenant, tenantOfEach } from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const NOON = START + 12 * HOUR_MS;

export function describeFleetTime({ database, ledger }: LedgerUnderTest): void {
  const tenant = tenantOfEach(ledger);
  const record = (...checkIns: CheckIn[]) => ledger.recordCheckIns(checkIns);
  const recordAwaited = (...checkIns: CheckIn[]) => ledger.recordAwaited(checkIns);
  const setTime = (ms: number | undefined) => setFleetTime(database, ms);
  afterEach(() => setTime(undefined));

  test('the clock that is read is that of the database', async () => {
    const [before, read, after] = [Date.now(), await ledger.readTime(), Date.now()];
    expect(read).toBeGreaterThan(before - 1000);
    expect(read).toBeLessThan(after + 1000);
  });

  test('what somebody waits for is the newest, at the present, whatever its own time says or the clock of the database', async () => {
    for (const [index, [present, at, lastSeen]] of [
      [NOON, NOON + 9 * HOUR_MS, NOON],
      [NOON, 0, NOON + 1],
      // That clock goes back.
      [NOON - 2000, NOON, NOON - 1999],
      [NOON - 2 * HOUR_MS, NOON, NOON - 2 * HOUR_MS + 1],
    ].entries() as IterableIterator<[number, [number, number, number]]>) {
      await setTime(present);
      const labels = labelsOf({ ring: `${index}` });
      const [answered] = await recordAwaited(
        checkIn(tenant, 'a', { at, version: `1.0.${index}`, labels }),
      );
      expect(answered).toMatchObject({ labels, revision: index + 1 });
      expect(await tenant.device('a')).toMatchObject({
        version: `1.0.${index}`,
        lastSeen: iso(lastSeen),
        labels: { ring: `${index}` },
      });
    }
  });

  test('a check-in from a queue whose time is in the future is one of the present', async () => {
    const { value: release } = await tenant.release('2.0.0');
    await setTime(NOON);
    const ahead = { at: NOON + HOUR_MS, labels: labelsOf({ ring: 'ahead' }) };
    await record(checkIn(tenant, 'a', { ...ahead, offeredReleaseId: release.id }));
    expect(await tenant.device('a')).toMatchObject({
      firstSeen: iso(NOON),
      lastSeen: iso(NOON),
      lastOffered: { version: '2.0.0', at: iso(NOON) },
      history: [{ at: iso(NOON), from: null, to: '1.0.0' }],
    });
    expect(await hoursOf(tenant)).toEqual([iso(NOON)]);
    await setTime(NOON + MINUTE_MS);
    await record(
      checkIn(tenant, 'a', { version: '1.1.0', labels: labelsOf({ ring: 'x' }), at: NOON + 1 }),
    );
    expect(await tenant.device('a')).toMatchObject({
      version: '1.1.0',
      labels: { ring: 'x' },
    });
  });

  test('what is awaited is not undone by what was queued before it, once or again', async () => {
    const queued = [1, 2, 3].map((minute) =>
      checkIn(tenant, 'a', {
        at: NOON + minute * MINUTE_MS,
        version: `0.0.${minute}`,
        labels: labelsOf({ ring: `${minute}`, [`own ${minute}`]: 'x' }),
      }),
    );
    await setTime(NOON + 4 * MINUTE_MS);
    await recordAwaited(
      checkIn(tenant, 'a', { version: '9.0.0', labels: labelsOf({ ring: '9' }) }),
    );
    for (const each of [...queued, ...queued.toReversed()]) {
      await record(each);
      expect(await tenant.device('a')).toMatchObject({
        version: '9.0.0',
        lastSeen: iso(NOON + 4 * MINUTE_MS),
        labels: { ring: '9' },
      });
    }
    const place = await placeOf(database, tenant, 'a');
    for (const each of queued) await record(each);
    expect(await placeOf(database, tenant, 'a')).toBe(place);
  });

  test('times in the future that are stored count as the present, and become it', async () => {
    const { value: release } = await tenant.release('2.0.0');
    // As a node of an older version stored it, by a clock that was two hours ahead.
    await setTime(NOON + 2 * HOUR_MS);
    for (const id of ['queued', 'awaited', 'older']) {
      await recordAwaited(
        checkIn(tenant, id, {
          offeredReleaseId: release.id,
          labels: labelsOf({ ring: 'ahead', site: 'ahead' }),
        }),
      );
    }
    expect(await hoursOf(tenant)).toEqual([iso(NOON + 2 * HOUR_MS)]);
    await setTime(NOON);
    const labels = labelsOf({ ring: 'new' });
    await record(checkIn(tenant, 'older', { at: NOON - 1, version: '1.1.0', labels }));
    await recordAwaited(checkIn(tenant, 'awaited', { version: '1.1.0', labels }));
    await record(checkIn(tenant, 'queued', { at: NOON - 1 }));
    await setTime(NOON + MINUTE_MS);
    await record(checkIn(tenant, 'queued', { at: NOON + 1, version: '1.1.0', labels }));
    const known = { firstSeen: iso(NOON), lastOffered: { version: '2.0.0', at: iso(NOON) } };
    expect(await tenant.device('older')).toMatchObject({
      firstSeen: iso(NOON - 1),
      version: '1.0.0',
      labels: { ring: 'ahead', site: 'ahead' },
      lastSeen: iso(NOON),
      lastOffered: known.lastOffered,
    });
    for (const id of ['awaited', 'queued']) {
      expect(await tenant.device(id)).toMatchObject({
        version: '1.1.0',
        labels: { ring: 'new', site: 'ahead' },
        lastSeen: iso(NOON + 1),
        lastOffered: known.lastOffered,
      });
    }
    expect(await hoursOf(tenant)).toEqual([iso(NOON)]);
    const [row] = await database.query<{ count: number }>(
      `SELECT count(*)::integer AS count FROM devices WHERE app_id = $1 AND (
         last_seen > $2::timestamptz OR first_seen > $2 OR last_offered_at > $2
         OR EXISTS (SELECT FROM jsonb_each(label_times) WHERE value::bigint > $3))`,
      [tenant.appId, iso(NOON + 1), NOON + 1],
    );
    expect(row?.count).toBe(0);
  });

  test('of each label the newest counts, whatever else of the device comes with it', async () => {
    const random = randomFrom(20_261_124);
    await setTime(NOON + HOUR_MS);
    for (let device = 0; device < 25; device++) {
      const events = Array.from({ length: 6 }, (_, index) => {
        const key = ['ring', 'region', 'battery', undefined][Math.floor(random() * 4)];
        const labels = key === undefined ? undefined : labelsOf({ [key]: `${index}` });
        return checkIn(tenant, `d${device}`, { at: NOON + index * 1000, labels });
      });
      // Some come before the rest, as a report does that nobody waits for, or the batch of another node.
      const early = events.filter(() => random() < 0.3);
      for (const each of early) await record(each);
      await record(...events.filter((each) => !early.includes(each)));
      const newest = new Map(events.flatMap(({ labels }) => [...(labels ?? [])]));
      expect((await tenant.device(`d${device}`)).labels).toEqual(
        Object.fromEntries([...newest].sort()),
      );
    }
  });

  test('any check-ins at any times of any clocks are recorded as the model says', async () => {
    const random = randomFrom(20_261_122);
    const lastNoonOfMonth = NOON + 48 * HOUR_MS;
    for (const canGoBack of [false, true]) {
      const app = await createTenant(ledger);
      const model = new FleetModel();
      const delivered: CheckIn[][] = [];
      let present = lastNoonOfMonth;
      for (let batch = 0; batch < 60; batch++) {
        present += Math.floor(random() ** 3 * 40 * MINUTE_MS);
        if (canGoBack && random() < 0.2) present -= Math.floor(random() ** 4 * 3 * HOUR_MS);
        await setTime(present);
        const isAwaited = random() < 0.4;
        const again =
          random() < 0.2 ? delivered[Math.floor(random() * delivered.length)] : undefined;
        const checkIns =
          again ?? Array.from({ length: 30 }, () => anyCheckIn(app, present, random));
        if (isAwaited && again === undefined) await ledger.recordAwaited(checkIns);
        else await ledger.recordCheckIns(checkIns);
        const recording = { present, isAwaited: isAwaited && again === undefined };
        for (const each of coalesceCheckIns(checkIns)) model.add(each, recording);
        if (!recording.isAwaited && checkIns.every(({ at }) => at <= present)) {
          delivered.push(checkIns);
        }
        if (batch % 6 === 5) await expectModel(app, model);
      }
      if (canGoBack) continue;
      // What a queue delivers once more changes nothing.
      const before = await recordOf(app);
      for (const checkIns of delivered) await ledger.recordCheckIns(checkIns);
      expect(await recordOf(app)).toEqual(before);
    }
  });

  /** Returns the hours in which devices of the app count. */
  async function hoursOf(tenant: TestTenant): Promise<string[]> {
    const series = expectValue(await ledger.readAdoption(tenant.app, iso(START)));
    return [...new Set(series.map(({ hour }) => hour))];
  }

  async function recordOf(tenant: TestTenant): Promise<unknown> {
    return [
      expectValue(await ledger.listDevices(tenant.app, { limit: 1000 })),
      expectValue(await ledger.readAdoption(tenant.app, iso(0))),
    ];
  }

  async function expectModel(tenant: TestTenant, model: FleetModel): Promise<void> {
    const counted = expectValue(await ledger.readFleet(tenant.app));
    expect(counted).toEqual(await recount(database, tenant));
    expect(counted).toEqual(model.fleet());
    expect(await ledger.readAdoption(tenant.app, iso(0))).toEqual(model.adoption());
    for (const step of ADOPTION_STEPS.filter((each) => each !== 'hour')) {
      const wanted = { since: iso(0), step, channel: undefined };
      expect(await ledger.readAdoptionSteps(tenant.appId, wanted)).toEqual(
        model.adoptionSteps(step),
      );
    }
    const { devices } = expectValue(await ledger.listDevices(tenant.app, { limit: 1000 }));
    const told = devices.map(({ deviceId, firstSeen, lastSeen, version, arch, source }) => {
      return [deviceId, { firstSeen, lastSeen, version: version ?? '', arch: arch ?? '', source }];
    });
    const expected = [...model.devices].map(([deviceId, { firstSeen, at, ...device }]) => {
      const { version, arch, source } = device;
      return [deviceId, { firstSeen: iso(firstSeen), lastSeen: iso(at), version, arch, source }];
    });
    expect(Object.fromEntries(told)).toEqual(Object.fromEntries(expected));
  }
}

/** Random check-in of one of 60 devices, by a clock that is right, or up to three hours wrong. */
function anyCheckIn(tenant: TestTenant, present: number, random: () => number): CheckIn {
  const pick = <Item>(items: readonly [Item, ...Item[]]): Item =>
    items[Math.floor(random() * items.length)] ?? items[0];
  const wrong = Math.floor((random() - 0.5) * 6 * HOUR_MS);
  return checkIn(tenant, `device ${Math.floor(random() * 60)}`, {
    channel: pick(['stable', 'stable', 'stable', 'beta']),
    version: pick(['1.0.0', '1.0.0', '2.0.0', undefined]),
    platform: pick(['linux', 'linux', 'linux', 'linux', 'mac']),
    arch: pick(['x86_64', 'x86_64', 'x86_64', '']),
    source: pick(['pull', 'pull', 'pull', 'push']),
    at: present + (random() < 0.5 ? -Math.floor(random() * 5 * MINUTE_MS) : wrong),
  });
}
