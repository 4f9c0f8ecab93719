// Tests the colors of versions in charts: which version has which, and that it keeps it.

import { describe, expect, it } from 'vitest';
import { colorAt, colorPlaces } from '../../src/console/format/version-colors.ts';

const NONE: ReadonlyMap<string, number> = new Map();

/** Returns the indices of the palette in the order of the names. */
function placesOf(names: readonly string[], kept: Record<string, number> = {}) {
  const places = colorPlaces(new Map(Object.entries(kept)), names);
  return names.map((name) => places.get(name));
}

it.each<[why: string, names: string[], kept: Record<string, number>, places: unknown[]]>([
  ['the hash of its text', ['1.0.0'], {}, [4]],
  ['what it had, whatever its hash says', ['1.0.0'], { '1.0.0': 5 }, [5]],
  ['the next one, when an older version has that', ['1.0.0', '1.1.0'], { '1.1.0': 4 }, [5, 4]],
  ['none that a version has which is not shown', ['1.0.0'], { '0.9.0': 4 }, [5]],
  ['the same beside a newer one', ['1.2.0', '1.1.0', '1.0.0'], {}, [2, 3, 4]],
  ['the same without the others', ['1.1.0'], {}, [3]],
  ['none, when it is no version', ['Unknown', 'Others'], {}, [undefined, undefined]],
])('a version has %s', (_, names, kept, places) => {
  expect(placesOf(names, kept)).toEqual(places);
});

describe('many versions', () => {
  const versions = Array.from({ length: 8 }, (_, index) => `1.${index}.0`);

  it('differ as long as there are colors, and the newest of more is gray', () => {
    expect(new Set(placesOf(versions)).size).toBe(8);
    const places = colorPlaces(NONE, [...versions, '2.0.0']);
    expect(new Set(places.values()).size).toBe(9);
    expect(colorAt(places.get('2.0.0'))).toBe('#868e96');
  });

  it('share no color that is shown, when those that are not shown have them all', () => {
    const kept = Object.fromEntries(versions.map((version, index) => [version, index]));
    expect(placesOf(['2.0.0', '2.1.0'], kept)).toEqual([5, 6]);
    expect(placesOf(['0.1.0', '1.0.0'], kept)).toEqual([1, 0]);
  });
});

it('a place of the palette is a color, every other one gray', () => {
  expect([0, 7, 8, undefined].map(colorAt)).toEqual([
    ...['#4c6ef5', '#b08900', '#868e96', '#868e96'],
  ]);
});
