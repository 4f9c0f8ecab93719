// Colors of versions that this browser stores, so that a version keeps its color.

import { type ColorPlaces, colorAt, colorPlaces } from '../format/version-colors.ts';
import { keepText, recallText } from '../hook/storage.ts';

/** Maximum number of versions of an app whose colors this browser stores. */
const KEPT_MAX = 64;

/** Returns a color for each name, in order, and stores those of versions. */
export function versionColors(app: string, names: readonly string[]): readonly string[] {
  const kept = recallColors(app);
  const places = colorPlaces(kept, names);
  const next = [...new Map([...kept, ...places])].slice(-KEPT_MAX);
  keepText(`sluice-colors-${app}`, JSON.stringify(next));
  return names.map((name) => colorAt(places.get(name)));
}

function recallColors(app: string): ColorPlaces {
  try {
    const kept: unknown = JSON.parse(recallText(`sluice-colors-${app}`) ?? '[]');
    return new Map(Array.isArray(kept) ? kept : []);
  } catch {
    return new Map();
  }
}
