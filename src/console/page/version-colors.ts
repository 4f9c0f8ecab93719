// Colors of versions in a chart: distinguishable with common color blindness, on light and dark.

import { byVersion } from '../../domain/decision/by-version.ts';
import { isVersion } from '../format/adoption-series.ts';

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

/**
 * Returns a color for each name, in their order. A version keeps its color as newer ones come: it takes the
 * place in the palette that its own text gives it, or the next one that no older version of the chart has.
 */
export function versionColors(names: readonly string[]): readonly string[] {
  const taken = new Map<string, number>();
  const oldestFirst = byVersion(names.filter(isVersion), (name) => name).toReversed();
  for (const name of oldestFirst)
    taken.set(name, freePlace(placeOf(name), new Set(taken.values())));
  return names.map((name) => PALETTE[taken.get(name) ?? PALETTE.length] ?? OTHER);
}

function freePlace(wanted: number, taken: ReadonlySet<number>): number {
  for (let step = 0; step < PALETTE.length; step += 1) {
    const place = (wanted + step) % PALETTE.length;
    if (!taken.has(place)) return place;
  }
  return PALETTE.length;
}

/** FNV-1a of the text, as a place in the palette. */
function placeOf(name: string): number {
  let hash = 2166136261;
  for (const character of name) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16777619) >>> 0;
  }
  return hash % PALETTE.length;
}
