// Rules of the ledger for the labels of devices: how they are kept, and how they are read.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Labels } from '../../../src/domain/decision/targeting.ts';
import { mergeLabels } from '../../../src/domain/fleet/labels.ts';
import { checkIn, labelsOf, MINUTE_MS, START } from './fleet-fixture.ts';
import { createTenant, type TestTenant, tenantOfEach } from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

/** Keys whose order by code units differs from that by code points, and some that are alike. */
const KEYS = [
  ...Array.from({ length: 20 }, (_, index) => `key ${index}`),
  ...[
    '\ue000',
    '\uffff',
    '\u{10000}',
    '\u{10ffff}',
    '\u{10ffff}a',
    '\uffffa',
    '\u{1f600}',
    '\ud7ff',
  ],
  ...['', 'a', 'A', 'aa', 'é', '10', '9', '__proto__', '$', "'"],
];

const SEED = 20_260_329;

const anyLabels: fc.Arbitrary<Labels> = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...KEYS), fc.constantFrom('', 'x', 'y')), {
    selector: ([key]) => key,
    minLength: 1,
    maxLength: 16,
  })
  .map((entries) => new Map(entries));

export function describeLabels({ ledger }: LedgerUnderTest): void {
  const tenant = tenantOfEach(ledger);
  const write = (tenant: TestTenant, deviceId: string, at: number, labels: Labels | undefined) =>
    ledger.recordCheckIns([checkIn(tenant, deviceId, { labels, at: START + at })]);

  async function read(tenant: TestTenant, deviceId: string) {
    const [found] = await ledger.readLabels([{ appId: tenant.appId, deviceId }]);
    return { labels: Object.fromEntries(found?.labels ?? []), revision: found?.revision };
  }

  test('answered are the merged labels of the devices whose check-in carried labels', async () => {
    await write(tenant, 'a', 0, labelsOf({ ring: '1' }));
    const { appId } = tenant;
    const answered = await ledger.recordCheckIns([
      checkIn(tenant, 'none'),
      checkIn(tenant, 'a', { labels: labelsOf({ site: 'x' }), at: START + 1 }),
      checkIn(tenant, 'empty', { labels: new Map() }),
      checkIn(tenant, 'new', { labels: labelsOf({ site: 'y' }), at: START + 2 }),
    ]);
    const merged = {
      labels: labelsOf({ ring: '1', site: 'x' }),
      times: new Map(Object.entries({ ring: START, site: START + 1 })),
    };
    const added = { labels: labelsOf({ site: 'y' }), times: new Map([['site', START + 2]]) };
    const expected = [
      { appId, deviceId: 'a', ...merged, revision: 2 },
      { appId, deviceId: 'new', ...added, revision: 1 },
    ];
    expect(answered).toEqual(expected);
    expect(await ledger.readLabels(expected)).toEqual(
      expected.map((entry) => ({ ...entry, isRecorded: true })),
    );
    const again = await write(tenant, 'a', 2, labelsOf({ ring: '1' }));
    expect(again).toEqual([{ appId, deviceId: 'a', ...merged, revision: 2 }]);
  });

  test('the revision rises with every change of the labels, and only then', async () => {
    const writes: readonly [at: number, labels: Record<string, string>, revision: number][] = [
      [0, { ring: '1' }, 1],
      [1, { ring: '1' }, 1],
      [9 * MINUTE_MS, { ring: '1' }, 1],
      [10 * MINUTE_MS, { ring: '2' }, 2],
      [3 * MINUTE_MS, { ring: '3' }, 2],
      [10 * MINUTE_MS, { ring: '4' }, 2],
      [4 * MINUTE_MS, { site: 'x' }, 3],
    ];
    for (const [at, labels, revision] of writes) {
      const [answered] = await write(tenant, 'a', at, labelsOf(labels));
      expect([at, answered?.revision]).toEqual([at, revision]);
    }
    expect((await read(tenant, 'a')).labels).toEqual({ ring: '2', site: 'x' });
  });

  test('what somebody waits for is newer than other labels on their way, also when it repeats the record', async () => {
    const labels = labelsOf({ ring: '1' });
    const repeat = () => ledger.recordAwaited([checkIn(tenant, 'a', { labels })]);
    await repeat();
    const { lastSeen } = await tenant.device('a');
    // Each is a millisecond later than the one before, at least.
    for (let time = 0; time < 2; time++) await repeat();
    const between = { labels: labelsOf({ ring: '2' }), at: Date.parse(lastSeen) + 1 };
    await ledger.recordCheckIns([checkIn(tenant, 'a', between)]);
    expect((await read(tenant, 'a')).labels).toEqual({ ring: '1' });
  });

  test(`any writes, one after the other, give what mergeLabels gives (seed ${SEED})`, async () => {
    const writes = fc.array(anyLabels, { minLength: 1, maxLength: 4 });
    const devices = fc.sample(writes, { numRuns: 400, seed: SEED });
    for (const turn of [0, 1, 2, 3]) {
      const batch = devices.map((labels, index) =>
        checkIn(tenant, `${index}`, { labels: labels[turn], at: START + turn }),
      );
      await ledger.recordCheckIns(batch);
    }
    const names = devices.map((_, index) => ({ appId: tenant.appId, deviceId: `${index}` }));
    const stored = await ledger.readLabels(names);
    const none: Labels = new Map();
    expect(stored.map(({ labels }) => labels)).toEqual(
      devices.map((labels) => labels.reduce(mergeLabels, none)),
    );
  });

  test('labels are read in the order asked; of an unknown device none, at revision 0', async () => {
    const other = await createTenant(ledger);
    await write(tenant, 'a', 0, labelsOf({ ring: '1' }));
    await write(tenant, 'b', 0, undefined);
    const names = [
      { appId: tenant.appId, deviceId: 'nobody' },
      { appId: tenant.appId, deviceId: 'a' },
      { appId: other.appId, deviceId: 'a' },
      { appId: tenant.appId, deviceId: 'nul\u0000' },
      { appId: tenant.appId, deviceId: 'b' },
      { appId: tenant.appId, deviceId: 'a' },
    ];
    const times = new Map([['ring', START]]);
    const known = { labels: labelsOf({ ring: '1' }), times, revision: 1, isRecorded: true };
    const none = { labels: new Map(), times: new Map(), revision: 0, isRecorded: true };
    const unknown = { ...none, isRecorded: false };
    const found = [unknown, known, unknown, unknown, none, known];
    expect(await ledger.readLabels(names)).toEqual(
      names.map((name, index) => ({ ...name, ...found[index] })),
    );
    expect(await ledger.readLabels([])).toEqual([]);
  });

  test('changes of labels are read in the order of their commits, each device at its latest', async () => {
    const { appId } = tenant;
    const { newest: start } = await ledger.readLabelChanges(undefined, 100);
    await write(tenant, 'a', 0, labelsOf({ ring: '1' }));
    await ledger.recordAwaited([
      checkIn(tenant, 'b', { labels: labelsOf({ ring: '1' }) }),
      checkIn(tenant, 'none'),
      checkIn(tenant, 'c', { labels: labelsOf({ ring: '1' }) }),
    ]);
    await write(tenant, 'a', 0, labelsOf({ ring: '1' }));
    await write(tenant, 'a', 6 * MINUTE_MS, labelsOf({ ring: '1' }));
    await write(tenant, 'a', 7 * MINUTE_MS, undefined);
    const first = await ledger.readLabelChanges(start, 100);
    expect(first.changed.map(({ deviceId }) => deviceId)).toEqual(['a', 'b', 'c']);
    expect(first.changed.at(-1)?.position).toBe(first.newest);
    await write(tenant, 'a', 8 * MINUTE_MS, labelsOf({ ring: '2', __proto__x: 'y' }));
    const { epoch, newest, changed } = await ledger.readLabelChanges(start, 100);
    const [b, c] = first.changed.slice(1);
    const at = START + 8 * MINUTE_MS;
    const written = ['__proto__x', 'ring'];
    expect(changed).toEqual([
      b,
      c,
      {
        ...{ appId, deviceId: 'a', revision: 2, position: newest },
        labels: new Map(written.map((key) => [key, key === 'ring' ? '2' : 'y'])),
        times: new Map(written.map((key) => [key, at])),
      },
    ]);
    expect(b).toMatchObject({ appId, labels: labelsOf({ ring: '1' }), revision: 1 });
    expect(await ledger.readLabelChanges(newest, 100)).toEqual({ epoch, newest, changed: [] });
    expect(await ledger.readLabelChanges(undefined, 100)).toEqual({ epoch, newest, changed: [] });
  });

  test('changes are read in pages, with none left out', async () => {
    let { newest: after } = await ledger.readLabelChanges(undefined, 1);
    const ids = Array.from({ length: 250 }, (_, index) => `device ${index}`);
    const labels = labelsOf({ ring: '1' });
    await ledger.recordCheckIns(ids.map((id) => checkIn(tenant, id, { labels })));
    const seen: string[] = [];
    for (;;) {
      const { changed, newest } = await ledger.readLabelChanges(after, 100);
      expect(changed.length).toBeLessThanOrEqual(100);
      seen.push(...changed.map(({ deviceId }) => deviceId));
      after = changed.at(-1)?.position ?? newest;
      if (after === newest) break;
    }
    expect(seen.toSorted()).toEqual(ids.toSorted());
  });

  test('a position is never given out twice, also after devices were forgotten', async () => {
    const longAgo = Date.UTC(2001, 0, 1);
    const before = (await ledger.readLabelChanges(undefined, 1)).newest;
    const labels = labelsOf({ ring: '1' });
    await ledger.recordCheckIns([checkIn(tenant, 'a', { at: longAgo, labels })]);
    const { newest } = await ledger.readLabelChanges(undefined, 1);
    expect(newest).toBeGreaterThan(before);
    await ledger.sweepFleet(new Date(longAgo + 1).toISOString(), new Date(0).toISOString(), 10);
    await write(tenant, 'b', 0, labels);
    const { changed } = await ledger.readLabelChanges(newest, 10);
    expect(changed.map(({ deviceId }) => deviceId)).toEqual(['b']);
  });
}
