// Tests that releases are found by edition wherever they are in the list.

import { expect, it } from 'vitest';
import { EditionFinder } from '../../../../src/domain/decision/artifact/edition-finder.ts';

const ITEMS = Array.from({ length: 100 }, (_, index) => ({ edition: `e${index}` }));

it.each([
  ['in their places', (place: number) => place],
  ['one place on', (place: number) => place + 1],
  ['in reverse', (place: number) => ITEMS.length - 1 - place],
  ['beyond the list', (place: number) => place + 1000],
])('releases that are looked for %s are found, and unknown ones are not', (_where, placeOf) => {
  const finder = new EditionFinder([undefined, ...ITEMS], (item) => item?.edition);
  for (const [index, item] of ITEMS.entries()) {
    expect(finder.find(item.edition, placeOf(index + 1))).toBe(item);
    expect(finder.find('unknown', placeOf(index))).toBeUndefined();
  }
});

it('an empty list has nothing', () => {
  expect(new EditionFinder([], () => undefined).find('e1', 0)).toBeUndefined();
});
