// Tests where the devices are that show a signal.

import { expect, test } from 'vitest';
import {
  failurePlaces,
  type PlaceCounts,
  worstPlatform,
} from '../../../src/domain/rollout/failure-places.ts';

const NONE = {
  ...{ failed: 0, failedBase: 0, reverted: 0, revertedBase: 0 },
  ...{ stuck: 0, stuckBase: 0, silent: 0, silentBase: 0 },
};

function platform(name: string, counts: Partial<PlaceCounts>): PlaceCounts {
  return { ...NONE, dimension: 'platform', name, ...counts };
}

test('the names with the most devices come first, then those that could show the signal and do not', () => {
  const { stuck } = failurePlaces([
    platform('linux', { stuckBase: 50 }),
    platform('windows', { stuck: 3, stuckBase: 40 }),
    platform('darwin', { stuckBase: 60 }),
    platform('none was offered it', {}),
  ]);
  expect(stuck.platforms).toEqual({
    named: [
      { name: 'windows', devices: 3, base: 40 },
      { name: 'darwin', devices: 0, base: 60 },
      { name: 'linux', devices: 0, base: 50 },
    ],
    others: null,
  });
  expect(stuck).toMatchObject({ devices: 3, base: 150, versions: { named: [], others: null } });
});

test('what is beyond five names is added up', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  const { failed } = failurePlaces(
    names.map((name, index) => platform(name, { failed: index, failedBase: 10 })),
  );
  expect(failed.platforms.named.map(({ name }) => name)).toEqual(['g', 'f', 'e', 'd', 'c']);
  expect(failed.platforms.others).toEqual({ devices: 1, base: 20 });
  expect(failed).toMatchObject({ devices: 21, base: 70 });
});

const SPARED = platform('linux', { stuckBase: 128 });
const WORSE = platform('windows', { stuck: 30, stuckBase: 76 });
const SINGLE = platform('haiku', { stuck: 1, stuckBase: 1 });
const [A, B] = ['a', 'b'].map((name) => platform(name, { stuck: 2, stuckBase: 10 }));
const STANDS_OUT = { name: 'windows', devices: 30, base: 76, percent: 39.5 };

test.each([
  ['one is alone', [WORSE], null],
  ['one stands out, beside a single device of another', [WORSE, SPARED, SINGLE], STANDS_OUT],
  ['all show it alike', [A, B], null],
  ['it is not known', [platform('', { stuck: 9, stuckBase: 9 }), SPARED], null],
])('the platform that shows a signal most, where %s', (_title, counts, worst) => {
  expect(worstPlatform(failurePlaces(counts as PlaceCounts[]).stuck)).toEqual(worst);
});
