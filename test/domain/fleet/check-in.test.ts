// Tests the merging of check-ins: the effect of all of them, in whatever order they come.

import { expect, it } from 'vitest';
import { coalesceCheckIns } from '../../../src/domain/fleet/check-in.ts';
import { checkInOf } from '../../store/engine/fleet-sample.ts';

it('labels of a device merge by their times, whatever batch they are in', () => {
  const at = (time: number, battery?: string) => ({
    ...checkInOf('d'),
    at: time,
    labels: battery === undefined ? undefined : new Map([['battery', battery]]),
  });
  // One node's batch first, whose last check-in is the newest and has no labels; then another node's.
  const batches = [at(1), at(3), at(6), at(2, '80'), at(4, '79'), at(5, '78')];
  const [merged, ...rest] = coalesceCheckIns(batches);
  expect(rest).toEqual([]);
  expect([merged?.at, merged?.labels]).toEqual([6, new Map([['battery', '78']])]);
});

it('labels keep the times at which they were sent, whatever comes after them', () => {
  const at = (time: number, labels?: Record<string, string>) => ({
    ...checkInOf('d'),
    at: time,
    labels: labels === undefined ? undefined : new Map(Object.entries(labels)),
  });
  const [merged] = coalesceCheckIns([
    at(1, { ring: 'inner', region: 'eu' }),
    at(2, { ring: 'outer' }),
    at(3, { battery: '80' }),
    at(3, { load: '1' }),
    at(4),
  ]);
  expect(merged).toMatchObject({
    at: 4,
    labels: new Map(Object.entries({ ring: 'outer', region: 'eu', battery: '80', load: '1' })),
    labelTimes: new Map(Object.entries({ region: 1, ring: 2, battery: 3, load: 3 })),
  });
  const [again] = coalesceCheckIns([at(5, { ring: 'inner' }), ...(merged ? [merged] : [])]);
  expect(again?.labelTimes).toEqual(new Map(Object.entries({ region: 1, battery: 3, load: 3 })));
  // Sent with the check-in itself, labels have its time.
  expect(coalesceCheckIns([at(1), at(2, { ring: 'inner' })])[0]?.labelTimes).toBeUndefined();
});
