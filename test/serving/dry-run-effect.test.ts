// Tests the effect of a change on a fleet (docs/contract.md 24): a table of changes with what they move, and
// for hundreds of devices that it is what asking for each of them before and after says.

import { expect, it } from 'vitest';
import type { EffectMove } from '../../src/contract/dry-run.ts';
import { failUntil, isFailure } from '../../src/contract/failure.ts';
import { decide } from '../../src/domain/decision/decide.ts';
import type { SnapshotRelease } from '../../src/domain/decision/serving-snapshot.ts';
import { EffectMeter } from '../../src/serving/dry-run-effect.ts';
import type { SampledDevice } from '../../src/store/fleet-ledger.ts';
import { catalog, device, fields, planOf, release, snapshot, targeting } from '../domain/sample.ts';

type Releases = readonly SnapshotRelease[];

/** A device on Linux and `stable`, with 1.0.0 unless told otherwise. */
function deviceOf(index: number, more: Partial<SampledDevice> = {}): SampledDevice {
  const place = { channel: 'stable', platform: 'linux', arch: 'x86_64', version: '1.0.0' };
  const client = { client: 'push', bundle: null, labels: new Map() } as const;
  return { deviceId: `device-${index}`, ...place, ...client, ...more };
}

/** Measures a change of `rel-1.1.0` on `stable`; `beta`, which follows it, has 1.0.5. */
async function measure(meter: EffectMeter, before: Releases, after: Releases) {
  const beta = (releases: Releases) =>
    snapshot([release('1.0.5'), ...releases.map((each) => ({ ...each, followed: true }))], {
      channel: 'beta',
      channelId: 'chn-2',
      follows: 'stable',
    });
  return meter.measure({
    places: [
      { before: snapshot(before), after: snapshot(after) },
      { before: beta(before), after: beta(after) },
    ],
    ...{ held: () => undefined, releaseId: 'rel-1.1.0' },
  });
}

async function effectOn(devices: readonly SampledDevice[], before: Releases, after: Releases) {
  const sample = { devices, total: devices.length, isWhole: true };
  const meter = new EffectMeter({ sampleDevices: async () => sample });
  const measured = await measure(meter, before, after);
  if (isFailure(measured)) throw new Error(measured.message);
  const { moves, ...effect } = measured.effect;
  return { ...effect, moves: moves.map(moveText) };
}

/** Returns `1.0.0 > 1.1.0 (20)`, without the number of a single device. */
function moveText({ from, to, devices }: EffectMove): string {
  return `${from} > ${to}${devices === 1 ? '' : ` (${devices})`}`;
}

const [OLD, NEW] = [release('1.0.0'), release('1.1.0')];
const PAUSED = release('1.1.0', { status: 'paused' });
const BACK = release('1.1.0', { status: 'rolled_back', artifacts: [] });
const DOWN = ['1.1.0 > null', '1.1.0 > 1.0.0', '1.1.0 > 1.0.5'];
const FLEET = [
  ...[deviceOf(1), deviceOf(2, { version: '1.1.0' }), deviceOf(3, { version: '0.9.0' })],
  ...[deviceOf(4, { platform: 'windows' }), deviceOf(5, { channel: 'beta' })],
];

it.each<[what: string, Releases, Releases, moves: string[], gain: string[], lose: string[]]>([
  ['release', [], [NEW], ['null > 1.1.0 (2)', '1.0.5 > 1.1.0'], ['device-1', 'device-3'], []],
  ['pause', [OLD, NEW], [OLD, PAUSED], DOWN, [], ['device-1']],
  ['rollback', [OLD, NEW], [OLD, BACK], [...DOWN, 'null > 1.0.0'], ['device-2'], ['device-1']],
])(
  'a %s moves the devices that it has a file for, those of followers too (§24.1)',
  async (...row) => {
    const [, before, after, moves, gain, lose] = row;
    const effect = await effectOn(FLEET, before, after);
    expect(effect.moves.toSorted()).toEqual(moves.toSorted());
    expect(effect).toMatchObject({
      ...{ devices: 5, isEstimate: false, gain: gain.length, lose: lose.length },
      examples: { gain, lose },
    });
  },
);

it('the effect on 300 devices is what asking for each of them before and after says (§24.1)', async () => {
  const ring = { targets: targeting({ matchLabels: { ring: ['a'] } }) };
  const paused = release('1.3.0', { ...ring, status: 'paused' });
  const states: readonly Releases[] = [
    [NEW, release('1.2.0', { rolloutPct: 50 }), release('1.3.0', ring)],
    [NEW, release('1.2.0', { rolloutPct: 80 }), release('1.3.0', ring)],
    [NEW, release('1.2.0', { rolloutPct: 80 }), paused],
    [NEW, release('1.2.0', { status: 'rolled_back' }), paused],
  ];
  const devices = Array.from({ length: 300 }, (_, index) =>
    deviceOf(index, {
      version: `1.${index % 4}.0`,
      platform: index % 5 === 0 ? 'windows' : 'linux',
      labels: new Map([['ring', ['a', 'b', 'c'][index % 3] ?? '']]),
    }),
  );
  const askAll = (releases: Releases) =>
    devices.map(({ deviceId, version, platform, labels }) => {
      const plan = planOf(catalog(releases), fields(String(version), platform));
      const { candidate } = decide(plan, device(deviceId, Object.fromEntries(labels)));
      return candidate?.release.source.version ?? null;
    });
  for (const [index, after] of states.slice(1).entries()) {
    const [was, is] = [askAll(states[index] ?? []), askAll(after)];
    const moved = was.flatMap((from, at) => (from === is[at] ? [] : [[from, is[at]] as const]));
    expect(moved.length).toBeGreaterThan(0);
    const counts = new Map<string, EffectMove>();
    for (const [from, to] of moved) {
      const { devices = 0 } = counts.get(`${from} ${to}`) ?? {};
      counts.set(`${from} ${to}`, { from, to: to ?? null, devices: devices + 1 });
    }
    const effect = await effectOn(devices, states[index] ?? [], after);
    expect(effect.moves.toSorted()).toEqual([...counts.values()].map(moveText).sort());
    expect(effect).toMatchObject({
      ...{ devices: 300, isEstimate: false },
      gain: moved.filter(([from]) => from === null).length,
      lose: moved.filter(([, to]) => to === null).length,
    });
  }
});

it('one is measured at a time and four wait; the others are told to come again (§24.2)', async () => {
  let read = () => {};
  const sample = new Promise<{ devices: []; total: 0; isWhole: true }>((resolve) => {
    read = () => resolve({ devices: [], total: 0, isWhole: true });
  });
  const meter = new EffectMeter({ sampleDevices: () => sample });
  const all = Array.from({ length: 7 }, () => measure(meter, [OLD], [OLD, NEW]));
  read();
  const answers = await Promise.all(all);
  expect(answers.map((each) => isFailure(each))).toEqual([...Array(5).fill(false), true, true]);
  expect(answers.at(-1)).toEqual(failUntil('unavailable', 1000));
});
