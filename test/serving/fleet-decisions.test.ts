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

const DEVICE = { deviceId: 'd', version: '1.0.0', platform: 'linux', arch: 'x86_64' };
const X64 = { platform: 'linux', arch: 'x86_64', url: 'https://dl.example.com/x64' };
const RING = targeting({ matchLabels: { ring: ['inner'] } });
/** A channel with 2.0.0 for linux/x86_64, and releases above it that are for nobody and for one ring. */
const RELEASES = [
  release('2.0.0', { artifacts: [X64] }),
  release('3.0.0', { artifacts: [X64], rolloutPct: 0 }),
  release('3.1.0', { artifacts: [X64], targets: RING }),
];
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

const ROWS: readonly [change: Partial<typeof DEVICE>, version: string | undefined][] = [
  [{}, '2.0.0'],
  [{ version: '2.0.0' }, undefined],
  [{ version: '2.0.1' }, undefined],
  [{ platform: 'darwin' }, undefined],
  [{ arch: 'aarch64' }, undefined],
  [{ arch: undefined as never }, undefined],
  [{ deviceId: 'in' }, '3.1.0'],
  [{ deviceId: 'out' }, '2.0.0'],
];

it.each(ROWS)(
  'a device with %j is decided %s, alone and in a wave (§2.7)',
  async (change, version) => {
    const device = { ...DEVICE, ...change };
    expect((await plan(RELEASES, [device])).versions).toEqual([version]);
    expect((await plan([], [device])).versions).toEqual([undefined]);
    const all = await plan(
      RELEASES,
      ROWS.map(([each]) => ({ ...DEVICE, ...each })),
    );
    expect(all.versions).toEqual(ROWS.map(([, each]) => each));
  },
);

it('a device without an arch has the platform-wide artifact (§13.10)', async () => {
  const wide = { platform: 'linux', url: 'https://dl.example.com/wide' };
  const artifacts = [X64, { ...X64, arch: 'universal' }, wide];
  const device = { ...DEVICE, arch: undefined };
  const { updates } = await plan([release('2.0.0', { artifacts })], [device]);
  expect(updates[0].url).toBe(wide.url);
});

describe('a wave', () => {
  it('has a decision per device, in the order of the devices, 500 of them (§4.6, §8)', async () => {
    const devices = Array.from({ length: 500 }, (_, index) => {
      return { ...DEVICE, deviceId: `d${index}`, version: index % 3 === 0 ? '2.0.0' : '1.0.0' };
    });
    const { ids, versions, recorded } = await plan(RELEASES, devices);
    expect(ids).toEqual(devices.map(({ deviceId }) => deviceId));
    expect(versions.map((each) => each === undefined)).toEqual(ids.map((_, at) => at % 3 === 0));
    expect(recorded[0]).toHaveLength(500);
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
