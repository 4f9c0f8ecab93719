// Rules of the ledger for the labels of devices: how they are kept, and how they are read.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Labels } from '../../src/domain/decision/targeting.ts';
import { mergeLabels } from '../../src/domain/fleet/merge-labels.ts';
import {
  checkIn,
  deviceOf,
  type FleetUnderTest,
  labelsOf,
  MINUTE_MS,
  START,
} from './fleet-fixture.ts';
import { createTenant, type TestTenant } from './ledger-fixture.ts';

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

const anyLabels: fc.Arbitrary<Labels> = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...KEYS), fc.constantFrom('', 'x', 'y')), {
    selector: ([key]) => key,
    minLength: 1,
    maxLength: 16,
  })
  .map((entries) => new Map(entries));

export function describeLabels(fleet: FleetUnderTest): void {
  const write = (tenant: TestTenant, deviceId: string, at: number, labels: Labels | undefined) =>
    fleet.ledger.recordCheckIns([checkIn(tenant, deviceId, { labels, at: START + at })]);

  async function read(tenant: TestTenant, deviceId: string) {
    const [found] = await fleet.ledger.readLabels([{ appId: tenant.appId, deviceId }]);
    return { labels: Object.fromEntries(found?.labels ?? []), revision: found?.revision };
  }

  test('labels merge over stored ones key by key; a check-in without labels changes none', async () => {
    const tenant = await createTenant(fleet.ledger);
    await write(tenant, 'a', 0, labelsOf({ ring: '1', site: 'x' }));
    await write(tenant, 'a', 1, labelsOf({ ring: '2', shard: '7' }));
    await write(tenant, 'a', 2, undefined);
    await write(tenant, 'a', 3, new Map());
    await write(tenant, 'a', 3 * 60 * MINUTE_MS, undefined);
    const labels = { ring: '2', shard: '7', site: 'x' };
    expect(await read(tenant, 'a')).toEqual({ labels, revision: 2 });
    const device = await deviceOf(fleet.ledger, tenant, 'a');
    expect(Object.entries(device.labels)).toEqual(Object.entries(labels));
  });

  test('answered are the merged labels of the devices whose check-in carried labels', async () => {
    const tenant = await createTenant(fleet.ledger);
    await write(tenant, 'a', 0, labelsOf({ ring: '1' }));
    const { appId } = tenant;
    const answered = await fleet.ledger.recordCheckIns([
      checkIn(tenant, 'none'),
      checkIn(tenant, 'a', { labels: labelsOf({ site: 'x' }), at: START + 1 }),
      checkIn(tenant, 'empty', { labels: new Map() }),
      checkIn(tenant, 'new', { labels: labelsOf({ site: 'y' }), at: START + 2 }),
    ]);
    const merged = labelsOf({ ring: '1', site: 'x' });
    const expected = [
      { appId, deviceId: 'a', labels: merged, revision: 2 },
      { appId, deviceId: 'new', labels: labelsOf({ site: 'y' }), revision: 1 },
    ];
    expect(answered).toEqual(expected);
    expect(await fleet.ledger.readLabels(expected)).toEqual(
      expected.map((entry) => ({ ...entry, isRecorded: true })),
    );
    const again = await write(tenant, 'a', 2, labelsOf({ ring: '1' }));
    expect(again).toEqual([{ appId, deviceId: 'a', labels: merged, revision: 2 }]);
  });

  test('the revision rises with every change of the labels, and only then', async () => {
    const tenant = await createTenant(fleet.ledger);
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

  test('of each key the newest write counts, in whatever order writes come', async () => {
    const tenant = await createTenant(fleet.ledger);
    const writes = [
      { ring: '1', site: 'x', old: '1' },
      { ring: '2', shard: '7' },
      { site: 'y' },
      { ring: '4', late: '1' },
    ];
    const orders = permutations([0, 1, 2, 3]);
    for (const order of orders) {
      for (const at of order) await write(tenant, order.join(), at, labelsOf(writes[at] ?? {}));
      const expected = { late: '1', old: '1', ring: '4', shard: '7', site: 'y' };
      expect((await read(tenant, order.join())).labels).toEqual(expected);
    }
  });

  test('an older write, and one that was repeated, overrides nothing', async () => {
    const tenant = await createTenant(fleet.ledger);
    await write(tenant, 'a', 5, labelsOf({ ring: '5' }));
    await write(tenant, 'a', 4, labelsOf({ ring: '4', site: '4' }));
    await write(tenant, 'a', 5, labelsOf({ ring: '5' }));
    expect(await read(tenant, 'a')).toEqual({ labels: { ring: '5', site: '4' }, revision: 2 });
  });

  test('with a 17th label the newest write is kept first, then the stored ones in key order', async () => {
    const tenant = await createTenant(fleet.ledger);
    const letters = [...'abcdefghijklmnop'];
    await write(tenant, 'a', 0, new Map(letters.map((key) => [key, '0'])));
    await write(tenant, 'a', 1, labelsOf({ zz: '1', p: '1' }));
    const kept = [...letters.slice(0, 14), 'p', 'zz'];
    expect(Object.keys((await read(tenant, 'a')).labels)).toEqual(kept);
  });

  test('any writes, one after the other, give what mergeLabels gives', async () => {
    const tenant = await createTenant(fleet.ledger);
    let count = 0;
    const writes = fc.array(anyLabels, { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(fc.array(writes, { minLength: 30, maxLength: 30 }), async (devices) => {
        const first = count;
        count += devices.length;
        for (let turn = 0; turn < 4; turn++) {
          await fleet.ledger.recordCheckIns(
            devices.map((labels, index) =>
              checkIn(tenant, `${first + index}`, { labels: labels[turn], at: START + turn }),
            ),
          );
        }
        const names = devices.map((_, index) => ({
          appId: tenant.appId,
          deviceId: `${first + index}`,
        }));
        const stored = await fleet.ledger.readLabels(names);
        const none: Labels = new Map();
        expect(stored.map(({ labels }) => labels)).toEqual(
          devices.map((labels) => labels.reduce(mergeLabels, none)),
        );
      }),
      { numRuns: 15 },
    );
  });

  test('labels are read in the order asked; of an unknown device none, at revision 0', async () => {
    const tenant = await createTenant(fleet.ledger);
    const other = await createTenant(fleet.ledger);
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
    const known = { labels: labelsOf({ ring: '1' }), revision: 1, isRecorded: true };
    const none = { labels: new Map(), revision: 0, isRecorded: true };
    const unknown = { ...none, isRecorded: false };
    const found = [unknown, known, unknown, unknown, none, known];
    expect(await fleet.ledger.readLabels(names)).toEqual(
      names.map((name, index) => ({ ...name, ...found[index] })),
    );
    expect(await fleet.ledger.readLabels([])).toEqual([]);
  });

  test('changes of labels are read in the order of their commits, each device at its latest', async () => {
    const tenant = await createTenant(fleet.ledger);
    const { appId } = tenant;
    const { newest: start } = await fleet.ledger.readLabelChanges(undefined, 100);
    await write(tenant, 'a', 0, labelsOf({ ring: '1' }));
    await fleet.ledger.recordAwaited([
      checkIn(tenant, 'b', { labels: labelsOf({ ring: '1' }) }),
      checkIn(tenant, 'none'),
      checkIn(tenant, 'c', { labels: labelsOf({ ring: '1' }) }),
    ]);
    await write(tenant, 'a', 0, labelsOf({ ring: '1' }));
    await write(tenant, 'a', 6 * MINUTE_MS, labelsOf({ ring: '1' }));
    await write(tenant, 'a', 7 * MINUTE_MS, undefined);
    const first = await fleet.ledger.readLabelChanges(start, 100);
    expect(first.changed.map(({ deviceId }) => deviceId)).toEqual(['a', 'b', 'c']);
    expect(first.changed.at(-1)?.position).toBe(first.newest);
    await write(tenant, 'a', 8 * MINUTE_MS, labelsOf({ ring: '2', __proto__x: 'y' }));
    const { epoch, newest, changed } = await fleet.ledger.readLabelChanges(start, 100);
    const one = { appId, labels: labelsOf({ ring: '1' }), revision: 1 };
    const [b, c] = first.changed.slice(1);
    expect(changed).toEqual([
      { ...one, deviceId: 'b', position: b?.position },
      { ...one, deviceId: 'c', position: c?.position },
      {
        appId,
        deviceId: 'a',
        labels: new Map([
          ['__proto__x', 'y'],
          ['ring', '2'],
        ]),
        revision: 2,
        position: newest,
      },
    ]);
    expect(await fleet.ledger.readLabelChanges(newest, 100)).toEqual({
      epoch,
      newest,
      changed: [],
    });
    expect(await fleet.ledger.readLabelChanges(undefined, 100)).toEqual({
      epoch,
      newest,
      changed: [],
    });
  });

  test('changes are read in pages, with none left out', async () => {
    const tenant = await createTenant(fleet.ledger);
    let { newest: after } = await fleet.ledger.readLabelChanges(undefined, 1);
    const ids = Array.from({ length: 250 }, (_, index) => `device ${index}`);
    const labels = labelsOf({ ring: '1' });
    await fleet.ledger.recordCheckIns(ids.map((id) => checkIn(tenant, id, { labels })));
    const seen: string[] = [];
    for (;;) {
      const { changed, newest } = await fleet.ledger.readLabelChanges(after, 100);
      expect(changed.length).toBeLessThanOrEqual(100);
      seen.push(...changed.map(({ deviceId }) => deviceId));
      after = changed.at(-1)?.position ?? newest;
      if (after === newest) break;
    }
    expect(seen.toSorted()).toEqual(ids.toSorted());
  });

  test('a position is never given out twice, also after devices were forgotten', async () => {
    const tenant = await createTenant(fleet.ledger);
    const longAgo = Date.UTC(2001, 0, 1);
    const before = (await fleet.ledger.readLabelChanges(undefined, 1)).newest;
    const labels = labelsOf({ ring: '1' });
    await fleet.ledger.recordCheckIns([checkIn(tenant, 'a', { at: longAgo, labels })]);
    const { newest } = await fleet.ledger.readLabelChanges(undefined, 1);
    expect(newest).toBeGreaterThan(before);
    await fleet.ledger.sweepFleet(
      new Date(longAgo + 1).toISOString(),
      new Date(0).toISOString(),
      10,
    );
    await write(tenant, 'b', 0, labels);
    const { changed } = await fleet.ledger.readLabelChanges(newest, 10);
    expect(changed.map(({ deviceId }) => deviceId)).toEqual(['b']);
  });
}

function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length <= 1) return [[...items]];
  return items.flatMap((item) =>
    permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest]),
  );
}
