// Adoption of a release by its age, so that releases can be compared.

import type { AdoptionAtAge } from '../../contract/failure-breakdown.ts';

const HOUR_MS = 3_600_000;
/** Maximum number of ages in an answer, at equal distances. */
const AGES_MAX = 240;

/** Number of devices first seen on a release within the hour that begins at `hourMs` (since 1970). */
export type InstalledInHour = { readonly hourMs: number; readonly devices: number };

/**
 * Returns how many devices had installed a release at equally spaced ages in hours, up to `ageHours`.
 * Installations count from the end of their hour on, so adoption may look up to an hour slower.
 */
export function adoptionAtAges(
  publishedAtMs: number,
  installed: readonly InstalledInHour[],
  ageHours: number,
): readonly AdoptionAtAge[] {
  const step = Math.max(1, Math.ceil(ageHours / AGES_MAX));
  const sorted = [...installed].sort((left, right) => left.hourMs - right.hourMs);
  const ages: AdoptionAtAge[] = [];
  let next = 0;
  let devices = 0;
  for (let hours = step; ages.at(-1)?.hours !== ageHours && ageHours > 0; hours += step) {
    const age = Math.min(hours, ageHours);
    for (let each = sorted[next]; each !== undefined; each = sorted[++next]) {
      if (ageOf(each.hourMs, publishedAtMs) > age) break;
      devices += each.devices;
    }
    ages.push({ hours: age, devices });
  }
  return ages;
}

/** Returns the whole hours from publishing to the end of an hour, at least 1. */
function ageOf(hourMs: number, publishedAtMs: number): number {
  return Math.max(1, Math.floor((hourMs + HOUR_MS - publishedAtMs) / HOUR_MS));
}
