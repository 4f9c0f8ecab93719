// The adoption series as a chart wants it: one row of numbers for each version, over the same times.

import type { AdoptionStep } from '../../contract/resource.ts';
import type { AdoptionPoint } from '../api/resource.ts';
import { compareVersions } from './compare-versions.ts';

export type AdoptionSeries = {
  /** Seconds since 1970, ascending. */
  readonly times: readonly number[];
  /** Newest version first; the rest together, if there is one, last. */
  readonly versions: readonly {
    readonly name: string;
    readonly devices: readonly number[];
  }[];
};

/** How far back each step looks: as many bars as can be told apart. */
export const STEP_SPAN_MS: Readonly<Record<AdoptionStep, number>> = {
  hour: 48 * 3_600_000,
  day: 30 * 86_400_000,
  month: 365 * 86_400_000,
};

/** More are not told apart by color. */
const VERSIONS_MAX = 8;
const OTHERS = 'Others';
const UNKNOWN = 'Unknown';

/** Sorts points into rows; beyond the versions with most devices the rest is one row. */
export function adoptionSeries(points: readonly AdoptionPoint[]): AdoptionSeries {
  const times = [...new Set(points.map(({ at }) => Date.parse(at) / 1000))].sort((a, b) => a - b);
  const shown = mainVersions(points);
  const column = new Map(times.map((time, index) => [time, index]));
  const rows = new Map<string, number[]>();
  for (const { at, version, devices } of points) {
    const name = version !== null && shown.has(version) ? nameOf(version) : OTHERS;
    const row = rows.get(name) ?? times.map(() => 0);
    const index = column.get(Date.parse(at) / 1000) ?? 0;
    row[index] = (row[index] ?? 0) + devices;
    rows.set(name, row);
  }
  const versions = [...rows].map(([name, devices]) => ({ name, devices }));
  return { times, versions: versions.sort((left, right) => byRank(left.name, right.name)) };
}

/**
 * Rows on top of each other: each value becomes the sum of its own and of those before it. A hidden row has
 * no values, and the others close up.
 */
export function stackedRows(
  { times, versions }: AdoptionSeries,
  hidden: ReadonlySet<string>,
): (number | null)[][] {
  const height = times.map(() => 0);
  return versions.map(({ name, devices }) => {
    if (hidden.has(name)) return times.map(() => null);
    return devices.map((count, index) => {
      height[index] = (height[index] ?? 0) + count;
      return height[index] ?? 0;
    });
  });
}

function mainVersions(points: readonly AdoptionPoint[]): ReadonlySet<string> {
  const sums = new Map<string, number>();
  for (const { version, devices } of points) {
    if (version === null) continue;
    sums.set(version, (sums.get(version) ?? 0) + devices);
  }
  const most = [...sums].sort(([, left], [, right]) => right - left);
  return new Set(most.slice(0, VERSIONS_MAX).map(([version]) => version));
}

function byRank(left: string, right: string): number {
  const rank = (name: string) => [UNKNOWN, OTHERS].indexOf(name);
  return rank(left) - rank(right) || compareVersions(right, left);
}

function nameOf(version: string): string {
  return version === '' ? UNKNOWN : version;
}
