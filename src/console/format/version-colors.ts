// Colors of versions in charts: a version has the same color on every channel and every day.

import { byVersion } from '../../domain/decision/version.ts';
import { isVersion } from './adoption-series.ts';

/** Colors that are distinguishable with common color blindness, on light and dark. */
const PALETTE: readonly string[] = [
  '#4c6ef5',
  '#12a5a0',
  '#f08c00',
  '#d6336c',
  '#7c5cdb',
  '#2f9e44',
  '#1c8fd1',
  '#b08900',
];
const OTHER = '#868e96';

/** Indices of the palette by version. */
export type ColorPlaces = ReadonlyMap<string, number>;

/**
 * Returns an index of the palette for each version among the names. A version gets its index in `kept`, else
 * that of the hash of its text, or the next one that no version of the app has.
 */
export function colorPlaces(kept: ColorPlaces, names: readonly string[]): ColorPlaces {
  const places = new Map<string, number>();
  const oldestFirst = byVersion(names.filter(isVersion), (name) => name).toReversed();
  for (const name of oldestFirst.toSorted((one, other) => order(kept, one) - order(kept, other))) {
    const wanted = kept.get(name) ?? placeOf(name);
    const shown = new Set(places.values());
    const all = new Set([...shown, ...(kept.has(name) ? [] : kept.values())]);
    places.set(name, freePlace(wanted, all) ?? freePlace(wanted, shown) ?? PALETTE.length);
  }
  return places;
}

/** Returns the color at an index of the palette; gray for a name that has none. */
export function colorAt(place: number | undefined): string {
  return PALETTE[place ?? PALETTE.length] ?? OTHER;
}

/** Sorts versions with a stored color first, so that no other version gets it. */
function order(kept: ColorPlaces, name: string): number {
  return kept.has(name) ? 0 : 1;
}

function freePlace(wanted: number, taken: ReadonlySet<number>): number | undefined {
  for (let step = 0; step < PALETTE.length; step += 1) {
    const place = (wanted + step) % PALETTE.length;
    if (!taken.has(place)) return place;
  }
  return undefined;
}

/** Returns the FNV-1a hash of the text as an index of the palette. */
function placeOf(name: string): number {
  let hash = 2166136261;
  for (const character of name) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16777619) >>> 0;
  }
  return hash % PALETTE.length;
}
