// Adoption of a release by its age, so that two releases can be laid side by side.

import type { AdoptionAtAge } from '../../contract/failure-breakdown.ts';

const HOUR_MS = 3_600_000;
/** Maximum number of ages that are told, at equal distances. */
const AGES_MAX = 240;

/** Devices that were first seen on a release in an hour, by the begin of it in milliseconds since 1970. */
export type InstalledInHour = { readonly hourMs: number; readonly devices: number };

/**
 * Returns how many devices had installed a release when it was one hour old, and so on up to an age in hours.
 * Hours are those of the clock: what was installed in one counts from its end on, so that a release that was
 * published within an hour looks up to an hour slower. The last age is the one asked for.
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

/** Whole hours from the publishing to the end of an hour, at least one. */
function ageOf(hourMs: number, publishedAtMs: number): number {
  return Math.max(1, Math.floor((hourMs + HOUR_MS - publishedAtMs) / HOUR_MS));
}
