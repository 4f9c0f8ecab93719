// Tests packs of check-ins: unpacked check-ins are equal to the packed ones, whichever devices and versions
// are mixed.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CheckIn } from '../../../src/domain/fleet/check-in.ts';
import {
  areRowsWhole,
  type CheckInPack,
  CheckInPacker,
  internContext,
  internVersion,
  unpackCheckIns,
} from '../../../src/domain/fleet/check-in-pack.ts';
import { checkInOf } from '../../store/engine/fleet-sample.ts';
import { packCheckIns } from '../../support/pack-check-ins.ts';

const NETWORK = new Int32Array([0, 0x0102_0304]);
const OTHER_NETWORK = new Int32Array([0x2001_0db8, 0x0000_0001]);

const anyId = fc.oneof(
  fc.uuid(),
  fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 128 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
);
const anyCheckIn = fc.record({
  id: anyId,
  version: fc.constantFrom('1.0.0', '1.1.0', undefined),
  appId: fc.constantFrom('app_1', 'app_2'),
  elapsedMs: fc.integer({ min: -1000, max: 100_000 }),
  ring: fc.option(fc.string({ maxLength: 5 }), { nil: undefined }),
  network: fc.constantFrom('192.0.2.1', '255.255.255.255', '2001:db8:0:1::/64', '::/64', undefined),
});
const anyCheckIns = fc.array(anyCheckIn, { maxLength: 40 }).map((samples) =>
  samples.map(({ id, version, appId, elapsedMs, ring, network }) =>
    checkInOf(id, {
      appId,
      version,
      at: 1_790_000_000_000 + elapsedMs,
      network,
      labels: ring === undefined ? undefined : new Map([['ring', ring]]),
    }),
  ),
);

describe('a pack', () => {
  it('gives back what was put in, in that order', () => {
    fc.assert(
      fc.property(anyCheckIns, (checkIns) => {
        const pack = packCheckIns(checkIns);
        expect(pack.count).toBe(checkIns.length);
        expect(areRowsWhole(pack)).toBe(true);
        expect(unpackCheckIns(pack)).toEqual(checkIns);
        expect(countsOf(pack)).toEqual(countBy(checkIns, ({ appId }) => appId));
      }),
      { numRuns: 500 },
    );
  });

  it('stays as it was taken while its packer gathers anew', () => {
    const packer = new CheckInPacker();
    const [context, version] = sharedOf(checkInOf('a'));
    packer.add(context, version, 'first', 1, undefined, NETWORK);
    const taken = packer.take();
    packer.add(context, version, 'later', 2, undefined, OTHER_NETWORK);
    expect(devicesIn(taken)).toEqual(['first']);
    expect(devicesIn(packer.take())).toEqual(['later']);
  });

  it('has what is shared for itself, also when another packer has the same in turn', () => {
    const packers = [new CheckInPacker(), new CheckInPacker()] as const;
    for (const [index, id] of ['a', 'b', 'c', 'd', 'e', 'f'].entries()) {
      const [context, version] = sharedOf(checkInOf('a', { version: `${(index >> 2) + 1}.0.0` }));
      packers[index % 2 === 0 ? 0 : 1].add(context, version, id, 1, undefined, NETWORK);
    }
    const [even, odd] = packers.map((packer) => unpackCheckIns(packer.take()));
    expect(even?.map(({ deviceId, version }) => deviceId + version)).toEqual([
      ...['a1.0.0', 'c1.0.0', 'e2.0.0'],
    ]);
    expect(odd?.map(({ deviceId, version }) => deviceId + version)).toEqual([
      ...['b1.0.0', 'd1.0.0', 'f2.0.0'],
    ]);
  });

  it.each([
    ...(['appId', 'channel', 'platform', 'arch'] as const),
    ...(['source', 'client', 'bundle', 'offeredReleaseId'] as const),
  ])('has a context of its own for what differs in %s alone', (field) => {
    const context = checkInOf('a');
    expect(internContext({ ...context, [field]: 'another' })).not.toBe(internContext(context));
    expect(internContext({ ...context })).toBe(internContext(context));
  });

  it('takes 500 of the longest ids, after it was made for shorter ones', () => {
    const ids = Array.from({ length: 500 }, (_, index) => '𝔘'.repeat(125) + index);
    const checkIns = ids.map((id) => checkInOf(id, { at: 5 }));
    expect(unpackCheckIns(packCheckIns(checkIns))).toEqual(checkIns);
  });

  it('has the time of each check-in to the millisecond, also when a clock jumps', () => {
    const packer = new CheckInPacker();
    const [context, version] = sharedOf(checkInOf('a'));
    const times = [0, 5, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 1_790_000_000_001, Number.MAX_SAFE_INTEGER];
    for (const at of times) packer.add(context, version, 'device', at, undefined, NETWORK);
    expect(unpackCheckIns(packer.take()).map(({ at }) => at)).toEqual(times);
  });
});

describe('rows from somewhere else are not whole', () => {
  const pack = packCheckIns([checkInOf('a'), checkInOf('b')]);
  const changed = (index: number, value: number) => {
    const rows = pack.rows.slice();
    rows[index] = value;
    return { ...pack, rows };
  };
  it.each([
    ['with a row less than counted', { ...pack, count: 3 }],
    ['with a row more than counted', { ...pack, count: 1 }],
    ['without their end', { ...pack, rows: pack.rows.slice(0, -1) }],
    ['with an context that is not there', changed(0, 1)],
    ['with a version that is not there', changed(0, 1 << 16)],
    ['with an id that ends behind them', changed(6, 9 << 21)],
    ['without any context', { ...pack, contexts: [] }],
    ['without any version', { ...pack, versions: [] }],
  ])('%s', (_, broken) => {
    expect(areRowsWhole(broken)).toBe(false);
  });
});

function countsOf({ counts }: CheckInPack): Record<string, number> {
  return Object.fromEntries([...counts].map(([appId, { count }]) => [appId, count]));
}

function countBy(checkIns: readonly CheckIn[], key: (checkIn: CheckIn) => string) {
  const counts: Record<string, number> = {};
  for (const each of checkIns) counts[key(each)] = (counts[key(each)] ?? 0) + 1;
  return counts;
}

function sharedOf(checkIn: CheckIn) {
  return [internContext(checkIn), internVersion(checkIn.version)] as const;
}

function devicesIn(pack: Parameters<typeof unpackCheckIns>[0]): string[] {
  return unpackCheckIns(pack).map(({ deviceId }) => deviceId);
}
