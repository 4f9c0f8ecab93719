// Colors of versions in charts: a version has the same color on every channel and every day.

import { byVersion } from '../../domain/decision/version.ts';
import { isVersion } from '../format/adoption-series.ts';
import { keepText, recallText } from '../hook/storage.ts';

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
/** Maximum number of versions of an app whose colors this browser stores. */
const KEPT_MAX = 64;

/**
 * Returns a color for each name, in order. A version gets the palette index of the hash of its text, or the
 * next one that no version of the app has. This browser stores the index, so the version keeps its color.
 */
export function versionColors(app: string, names: readonly string[]): readonly string[] {
  const kept = recallColors(app);
  const places = new Map<string, number>();
  const oldestFirst = byVersion(names.filter(isVersion), (name) => name).toReversed();
  for (const name of oldestFirst.toSorted((one, other) => order(kept, one) - order(kept, other))) {
    const wanted = kept.get(name) ?? placeOf(name);
    const shown = new Set(places.values());
    const all = new Set([...shown, ...(kept.has(name) ? [] : kept.values())]);
    places.set(name, freePlace(wanted, all) ?? freePlace(wanted, shown) ?? PALETTE.length);
  }
  const next = [...new Map([...kept, ...places])].slice(-KEPT_MAX);
  keepText(`sluice-colors-${app}`, JSON.stringify(next));
  return names.map((name) => PALETTE[places.get(name) ?? PALETTE.length] ?? OTHER);
}

/** Sorts versions with a stored color first, so that no other version gets it. */
function order(kept: ReadonlyMap<string, number>, name: string): number {
  return kept.has(name) ? 0 : 1;
}

function recallColors(app: string): ReadonlyMap<string, number> {
  try {
    const kept: unknown = JSON.parse(recallText(`sluice-colors-${app}`) ?? '[]');
    return new Map(Array.isArray(kept) ? kept : []);
  } catch {
    return new Map();
  }
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
