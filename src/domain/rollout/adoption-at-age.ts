// Adoption of a release by its age, so that releases can be compared.

import type { AdoptionAtAge } from '../../contract/rollout-plan.ts';

const HOUR_MS = 3_600_000;
/** Maximum number of ages in an answer, at equal distances. */
const AGES_MAX = 240;

/**
 * Numbers of devices that were first seen on a release, and first offered it, within the hour that begins at
 * `hourMs` (since 1970).
 */
export type SpreadInHour = {
  readonly hourMs: number;
  readonly installed: number;
  readonly offered: number;
};

/**
 * Returns how many devices had installed a release, and how many were offered it, at equally spaced ages in
 * hours, up to `ageHours`. A device counts from the end of its hour on, so up to an hour late.
 */
export function adoptionAtAges(
  publishedAtMs: number,
  spread: readonly SpreadInHour[],
  ageHours: number,
): readonly AdoptionAtAge[] {
  const step = Math.max(1, Math.ceil(ageHours / AGES_MAX));
  const sorted = [...spread].sort((left, right) => left.hourMs - right.hourMs);
  const ages: AdoptionAtAge[] = [];
  let next = 0;
  let devices = 0;
  let offered = 0;
  for (let hours = step; ages.at(-1)?.hours !== ageHours && ageHours > 0; hours += step) {
    const age = Math.min(hours, ageHours);
    for (let each = sorted[next]; each !== undefined; each = sorted[++next]) {
      if (ageOf(each.hourMs, publishedAtMs) > age) break;
      devices += each.installed;
      offered += each.offered;
    }
    ages.push({ hours: age, devices, offered });
  }
  return ages;
}

/** Returns the whole hours from publishing to the end of an hour, at least 1. */
function ageOf(hourMs: number, publishedAtMs: number): number {
  return Math.max(1, Math.floor((hourMs + HOUR_MS - publishedAtMs) / HOUR_MS));
}
