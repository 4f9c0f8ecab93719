// Rules of the ledger for what check-ins make of a device.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type CheckIn, mergeCheckIns } from '../../../src/domain/fleet/check-in.ts';
import { checkIn, HOUR_MS, iso, labelsOf, MINUTE_MS, placeOf, START } from './fleet-fixture.ts';
import { expectValue, tenantOfEach } from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const ODD_IDS = [
  "quote'; DROP TABLE devices --",
  '"double" \\ {braces},NULL',
  'NULL',
  '{}',
  '',
  ' ',
  '\u00e9\u{1f600}\u202e\ufeff',
  'é'.normalize('NFD'),
  '\u{1f600}'.repeat(64),
  'x'.repeat(128),
  '__proto__',
];
const SEED = 20_260_329;

export function describeCheckIns({ database, ledger }: LedgerUnderTest): void {
  const tenant = tenantOfEach(ledger);
  const record = (...checkIns: CheckIn[]) => ledger.recordCheckIns(checkIns);

  test('a first check-in is the device; unknown parts are null', async () => {
    await record(checkIn(tenant, 'a', { at: START + 123, source: 'push' }));
    await record(
      checkIn(tenant, 'b', { version: undefined, arch: '', channel: 'no such channel' }),
    );
    expect(await tenant.device('a')).toEqual({
      deviceId: 'a',
      version: '1.0.0',
      platform: 'linux',
      arch: 'x86_64',
      channel: 'stable',
      labels: {},
      source: 'push',
      client: null,
      bundle: null,
      firstSeen: '2026-03-29T00:00:00.123Z',
      lastSeen: '2026-03-29T00:00:00.123Z',
      lastOffered: null,
      history: [{ at: '2026-03-29T00:00:00.123Z', from: null, to: '1.0.0' }],
    });
    expect(await tenant.device('b')).toMatchObject({
      version: null,
      arch: null,
      channel: 'no such channel',
      history: [],
    });
  });

  test('of two at the same millisecond the recorded one stays', async () => {
    const at = START + 0.9;
    await record(checkIn(tenant, 'a', { at, version: '1.0.0' }));
    const place = await placeOf(database, tenant, 'a');
    await record(checkIn(tenant, 'a', { at: START, version: '2.0.0', channel: 'beta' }));
    expect(await placeOf(database, tenant, 'a')).toBe(place);
  });

  test('the way to ask and the bundle are those of the newest that tells a way', async () => {
    for (const [minute, told, kept] of [
      [0, {}, [null, null]],
      [1, { client: 'tauri', bundle: 'deb' }, ['tauri', 'deb']],
      // Told by nobody: a check-in that was merged of several.
      [2, { client: undefined, bundle: undefined }, ['tauri', 'deb']],
      [3, { client: 'u' }, ['u', null]],
      [4, { client: 'push', bundle: 'rpm' }, ['push', 'rpm']],
    ] as const) {
      await record(checkIn(tenant, 'a', { ...told, at: START + minute * MINUTE_MS }));
      const { client, bundle } = await tenant.device('a');
      expect([client, bundle]).toEqual(kept);
    }
    await record(checkIn(tenant, 'a', { client: 'e', at: START }));
    expect(await tenant.device('a')).toMatchObject({ client: 'push', bundle: 'rpm' });
  });

  test(`two of one device have the effect of their merge, together, in order and reversed (seed ${SEED})`, async () => {
    const { value: release } = await tenant.release('9.0.0');
    const anyCheckIn = fc.record<Partial<CheckIn>>({
      channel: fc.constantFrom('stable', 'beta'),
      version: fc.constantFrom(undefined, '1.0.0', '2.0.0'),
      platform: fc.constantFrom('linux', 'mac'),
      arch: fc.constantFrom('', 'arm64'),
      source: fc.constantFrom('pull', 'push'),
      labels: fc.constantFrom(undefined, labelsOf({ a: '1' }), labelsOf({ a: '2', b: '2' })),
      offeredReleaseId: fc.constantFrom(undefined, release.id),
    });
    const pairs = fc.sample(fc.tuple(anyCheckIn, anyCheckIn), { numRuns: 200, seed: SEED });
    // The times are far enough apart that the later check-in is never left out as no news.
    const at = (way: string, number: number, which: 0 | 1) =>
      checkIn(tenant, `${number} ${way}`, {
        ...pairs[number]?.[which],
        at: START + which * 10 * MINUTE_MS,
      });
    const numbers = pairs.map((_, number) => number);
    await record(...numbers.map((n) => mergeCheckIns(at('merged', n, 0), at('merged', n, 1))));
    await record(...numbers.flatMap((n) => [at('together', n, 0), at('together', n, 1)]));
    await record(...numbers.flatMap((n) => [at('in order', n, 0), at('reversed', n, 1)]));
    await record(...numbers.flatMap((n) => [at('in order', n, 1), at('reversed', n, 0)]));
    const { devices } = expectValue(await ledger.listDevices(tenant.app, { limit: 1000 }));
    const facts = new Map(
      devices.map(({ deviceId, firstSeen, lastOffered, ...device }) => [
        deviceId,
        { ...device, offered: lastOffered?.version },
      ]),
    );
    for (const number of numbers) {
      const expected = facts.get(`${number} merged`);
      expect(expected).toBeDefined();
      for (const way of ['together', 'in order', 'reversed']) {
        expect([number, way, facts.get(`${number} ${way}`)]).toEqual([number, way, expected]);
      }
    }
  });

  test('with any other news, or in another hour, it is', async () => {
    const { value: release } = await tenant.release('2.0.0');
    const differing: Partial<CheckIn>[] = [
      { channel: 'beta' },
      { version: '2.0.0' },
      { platform: 'mac' },
      { arch: '' },
      { source: 'push' },
      { client: 'tauri' },
      { client: 'u', bundle: 'deb' },
      { labels: labelsOf({ ring: '1' }) },
      { offeredReleaseId: release.id },
      {},
    ];
    const first = START + HOUR_MS - 1;
    const ids = differing.map((_, index) => `device ${index}`);
    await record(...ids.map((id) => checkIn(tenant, id, { at: first })));
    await record(
      ...ids.map((id, index) => checkIn(tenant, id, { ...differing[index], at: first + 1 })),
    );
    for (const id of ids) {
      expect((await tenant.device(id)).lastSeen).toBe(iso(first + 1));
    }
  });

  test('the last offer is told by its version as published, and outlives check-ins without one', async () => {
    const parts = { version: 'v2', canonicalVersion: '2.0.0' };
    const { value: release } = await tenant.release('2.0.0', parts);
    const { value: next } = await tenant.release('3.0.0');
    const offer = async () => (await tenant.device('a')).lastOffered;
    await record(checkIn(tenant, 'a', { offeredReleaseId: release.id }));
    await record(checkIn(tenant, 'a', { at: START + HOUR_MS }));
    expect(await offer()).toEqual({ version: 'v2', at: iso(START) });
    const at = START + HOUR_MS + MINUTE_MS;
    await record(checkIn(tenant, 'a', { offeredReleaseId: next.id, at }));
    await record(checkIn(tenant, 'a', { offeredReleaseId: release.id, at: at - 1 }));
    expect(await offer()).toEqual({ version: '3.0.0', at: iso(at) });
    await record(checkIn(tenant, 'a', { offeredReleaseId: 'rel_gone', at: at + 1 }));
    expect(await offer()).toBeNull();
  });

  test('the version changes are kept newest first, from null when first known', async () => {
    const versions = [undefined, '1.0.0', '1.0.0', undefined, '2.0.0', '1.0.0'];
    for (const [minute, version] of versions.entries()) {
      await record(checkIn(tenant, 'a', { version, at: START + minute * MINUTE_MS }));
    }
    expect((await tenant.device('a')).history).toEqual([
      { at: iso(START + 5 * MINUTE_MS), from: '2.0.0', to: '1.0.0' },
      { at: iso(START + 4 * MINUTE_MS), from: '1.0.0', to: '2.0.0' },
      { at: iso(START + MINUTE_MS), from: null, to: '1.0.0' },
    ]);
  });

  test('check-ins of unknown apps are dropped, the others of their batch are not', async () => {
    const labels = labelsOf({ a: '1' });
    const unknown = ['app_unknown', '', tenant.app, 'nul\u0000', '\ud800'];
    const recorded = await record(
      ...unknown.map((appId) => checkIn({ appId }, 'a', { labels })),
      checkIn(tenant, 'a', { labels }),
    );
    expect(recorded).toMatchObject([{ appId: tenant.appId, deviceId: 'a', labels, revision: 1 }]);
    expect(await ledger.recordCheckIns([])).toEqual([]);
    const rows = await database.query(
      'SELECT app_id FROM devices WHERE app_id NOT IN (SELECT id FROM apps)',
    );
    expect(rows).toEqual([]);
  });

  test('a device id is any text', async () => {
    const labels = labelsOf({ "o'clock": '{"a": null}', __proto__x: '\\', é: '\u{1f600}' });
    const recorded = await record(...ODD_IDS.map((id) => checkIn(tenant, id, { labels })));
    expect(recorded.map(({ deviceId }) => deviceId)).toEqual(ODD_IDS);
    for (const id of ODD_IDS) {
      const device = await tenant.device(id);
      expect(device).toMatchObject({ deviceId: id, labels: Object.fromEntries(labels) });
    }
  });

  test('what no database can store is replaced, and costs nothing else', async () => {
    const odd = 'nul\u0000 and half \ud800';
    const labels = new Map([
      [odd, odd],
      ['__proto__', 'p'],
    ]);
    const parts = { labels, version: odd, channel: odd, platform: odd, arch: odd };
    await record(checkIn(tenant, odd, parts), checkIn(tenant, 'sound'));
    const stored = 'nul\ufffd and half \ufffd';
    const device = await tenant.device(odd);
    expect(device).toMatchObject({ deviceId: stored, version: stored, arch: stored });
    expect(Object.entries(device.labels)).toEqual([
      ['__proto__', 'p'],
      [stored, stored],
    ]);
    expect((await tenant.device('sound')).version).toBe('1.0.0');
  });
}
