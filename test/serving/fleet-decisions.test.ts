// Tests waves without stores: each device gets what an update check would have answered it, and what a wave
// records (docs/contract.md 4.6, 13, 14 and 17). A wave decides by the same code as update checks, which
// test/domain/decision holds against the rules for any channel and device.

import { describe, expect, it } from 'vitest';
import { isFailure } from '../../src/contract/failure.ts';
import type { CheckIn } from '../../src/domain/fleet/check-in.ts';
import { AppCounts } from '../../src/observe/app-counts.ts';
import { CHECK_REASONS } from '../../src/observe/label-values.ts';
import { CatalogSlot, PlanBudget } from '../../src/serving/catalog-slot.ts';
import { CheckUpdate } from '../../src/serving/check-update.ts';
import { WavePlanner, type WaveRequest } from '../../src/serving/fleet-decisions.ts';
import { catalog, release, targeting } from '../domain/sample.ts';

const LINUX = { platform: 'linux' };
const DEVICE = { deviceId: 'd', version: '1.0.0', platform: 'linux', arch: 'x86_64' };
const AT = 'https://dl.example.com/';
const x64 = (version: string) => ({ ...LINUX, arch: 'x86_64', url: `${AT}${version}/x64` });
/** A channel with 2.0.0 for linux/x86_64, and releases above it that are for nobody and for one ring. */
const RELEASES = [
  release('0.5.0', {
    artifacts: [
      x64('0.5.0'),
      { ...x64('0.5.0'), arch: 'universal' },
      { ...LINUX, url: `${AT}0.5.0/wide` },
    ],
  }),
  release('2.0.0', { artifacts: [x64('2.0.0')] }),
  release('3.0.0', { artifacts: [x64('3.0.0')], rolloutPct: 0 }),
  release('3.1.0', {
    artifacts: [x64('3.1.0')],
    targets: targeting({ matchLabels: { ring: ['inner'] } }),
  }),
];
/** Devices of `d0` to `d11` whose bucket in `rel-4.0.0` is below 5,000. Buckets never change (§3.8). */
const IN_COHORT = ['d0', 'd1', 'd2', 'd4', 'd6', 'd8'];
const NEW = ['2.0.0', '2.1.0'].map((text) => release(text, { offered: false }));

/** Plans a wave of devices on a channel; device `in` is of the inner ring. */
async function plan(
  releases: Parameters<typeof catalog>[0],
  devices: WaveRequest['devices'],
  isDryRun?: boolean,
) {
  const offers: string[] = [];
  const recorded: (readonly CheckIn[])[] = [];
  const slot = new CatalogSlot(new PlanBudget(), new AppCounts(CHECK_REASONS));
  slot.replace(catalog(releases));
  const record = async (_: unknown, { source }: { source: { id: string } }) => {
    offers.push(source.id);
    return 'recorded';
  };
  const planner = new WavePlanner({
    catalogs: { findForCaller: async () => slot },
    check: new CheckUpdate({ firstOffers: { record } } as never),
    labels: {
      readAll: async (named: readonly { deviceId: string }[]) =>
        named.map(({ deviceId }) => new Map(deviceId === 'in' ? [['ring', 'inner']] : [])),
    },
    ledger: {
      findApp: async () => ({ id: 'app-1', ref: 'acme' }),
      findLostRight: async () => undefined,
      recordReport: async (checkIns: readonly CheckIn[]) => void recorded.push(checkIns),
    },
    ...{ live: { note: () => {} }, mistakenIds: { note: () => {} } },
  } as never);
  const request = { app: 'acme', channel: 'stable', dryRun: isDryRun ?? false, devices };
  const wave = await planner.plan({ actor: {} } as never, request, 0);
  if (isFailure(wave)) throw new Error(wave.message);
  const updates = wave.decisions.map(({ update }) => JSON.parse(`${update ?? 'null'}`));
  const ids = wave.decisions.map(({ deviceId }) => deviceId);
  return { ids, updates, versions: updates.map((each) => each?.version), offers, recorded };
}

describe('a wave', () => {
  it.each([[false], [true]])(
    'has a decision for each device, in their order (dry run: %s; §2.7, §4.6, §13.10, §17.5)',
    async (isDryRun) => {
      const rows: readonly (readonly [change: object, url?: string])[] = [
        [{}, '2.0.0/x64'],
        [{ version: '2.0.0' }],
        [{ version: '2.0.1' }],
        [{ platform: 'darwin' }],
        [{ arch: 'aarch64' }],
        [{ arch: undefined }],
        [{ arch: undefined, version: '0.1' }, '0.5.0/wide'],
        [{ deviceId: 'in' }, '3.1.0/x64'],
        [{ deviceId: 'out' }, '2.0.0/x64'],
      ];
      const devices = rows.map(([change], at) => ({ ...DEVICE, deviceId: `d${at}`, ...change }));
      const { ids, updates, recorded } = await plan(RELEASES, devices, isDryRun);
      expect(ids).toEqual(devices.map(({ deviceId }) => deviceId));
      expect(updates.map((each) => each?.url)).toEqual(rows.map(([, url]) => url && `${AT}${url}`));
      const reported = recorded.map((each) => each.map(({ deviceId }) => deviceId));
      expect(reported).toEqual(isDryRun ? [] : [ids]);
      expect((await plan([], devices, isDryRun)).updates).toEqual(devices.map(() => null));
    },
  );

  it('offers a staged release to those of its cohort (§3.8, §13.7)', async () => {
    const staged = [release('4.0.0', { artifacts: [x64('4.0.0')], rolloutPct: 50 })];
    const devices = Array.from({ length: 12 }, (_, at) => ({ ...DEVICE, deviceId: `d${at}` }));
    const { ids, versions } = await plan(staged, devices);
    expect(ids.filter((_, at) => versions[at] === '4.0.0')).toEqual(IN_COHORT);
  });

  it('has each decision of a device that is named twice, and records its last state (§17.2)', async () => {
    const { versions, recorded } = await plan(RELEASES, [
      ...[{ ...DEVICE, version: '2.0.0' }, DEVICE, { ...DEVICE, deviceId: 'other' }],
      { ...DEVICE, version: '1.5.0', platform: 'darwin', arch: 'aarch64' },
    ]);
    expect(versions).toEqual([undefined, '2.0.0', '2.0.0', undefined]);
    const last = { deviceId: 'd', version: '1.5.0', platform: 'darwin', arch: 'aarch64' };
    expect(recorded).toMatchObject([[last, { deviceId: 'other', version: '1.0.0' }]]);
  });

  it.each<[version: string, isDryRun: boolean, offers: string[], recorded: number]>([
    ['1.0.0', false, ['rel-2.1.0'], 1],
    ['2.1.0', false, [], 1],
    ['1.0.0', true, [], 0],
  ])('of a device on %s (dry run: %s) records the offers %j (§4.6, §14.1)', async (...row) => {
    const [version, isDryRun, offers, recorded] = row;
    const planned = await plan(NEW, [{ ...DEVICE, version }], isDryRun);
    expect(planned.versions).toEqual([version === '1.0.0' ? '2.1.0' : undefined]);
    expect([planned.offers, planned.recorded.length]).toEqual([offers, recorded]);
  });
});
