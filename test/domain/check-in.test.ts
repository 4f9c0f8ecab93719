// Tests the merging of check-ins: the effect of all of them, in whatever order they come.

import { expect, it } from 'vitest';
import { coalesceCheckIns } from '../../src/domain/fleet/check-in.ts';
import { checkInOf } from '../engine/fleet-sample.ts';

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
