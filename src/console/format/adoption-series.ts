// Conversion of the adoption series for the chart: one row of numbers per version, all over the same times.

import type { Adoption, AdoptionStepPoint } from '../../contract/console-fleet.ts';
import type { AdoptionStep } from '../../contract/resource.ts';
import { byVersion } from '../../domain/decision/by-version.ts';

export type AdoptionSeries = {
  /** Times of the columns in seconds since 1970, ascending. */
  readonly times: readonly number[];
  /** Times of which no more is known than that there were at least so many devices. */
  readonly minimums: ReadonlySet<number>;
  /** Rows by version, newest first; the sum of all other versions, if there is one, is last. */
  readonly versions: readonly {
    readonly name: string;
    readonly devices: readonly number[];
  }[];
};

/** Time range for each step length: as many bars as can be told apart. */
export const STEP_SPAN_MS: Readonly<Record<AdoptionStep, number>> = {
  hour: 48 * 3_600_000,
  day: 30 * 86_400_000,
  month: 365 * 86_400_000,
};

/** Maximum number of versions with a row of their own, because more colors cannot be told apart. */
const VERSIONS_MAX = 8;
const OTHERS = 'Others';
const UNKNOWN = 'Unknown';

/**
 * Sorts the points of an answer in steps into rows; beyond the versions with most devices the rest is one
 * row. An answer by the hour, which a request without a step gets, has no such points.
 */
export function adoptionSeries(answer: Adoption['points']): AdoptionSeries {
  const points = answer.filter((point) => 'at' in point);
  const times = [...new Set(points.map(({ at }) => Date.parse(at) / 1000))].sort((a, b) => a - b);
  const shown = mainVersions(points);
  const column = new Map(times.map((time, index) => [time, index]));
  const rows = new Map<string, number[]>();
  for (const { at, version, devices } of points) {
    const name = version !== null && shown.has(version) ? seriesNameOf(version) : OTHERS;
    const row = rows.get(name) ?? times.map(() => 0);
    const index = column.get(Date.parse(at) / 1000) ?? 0;
    row[index] = (row[index] ?? 0) + devices;
    rows.set(name, row);
  }
  const versions = [...rows].map(([name, devices]) => ({ name, devices }));
  const minimums = new Set(
    points.filter(({ isMinimum }) => isMinimum).map(({ at }) => Date.parse(at) / 1000),
  );
  return { times, minimums, versions: inOrder(versions) };
}

/**
 * Stacks the rows: each value becomes the sum of itself and the values of the rows before it. A hidden row
 * has no values, and the others close up.
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

/** Tells whether a row is a version, and not the sum of others. */
export function isVersion(name: string): boolean {
  return name !== OTHERS && name !== UNKNOWN;
}

function mainVersions(points: readonly AdoptionStepPoint[]): ReadonlySet<string> {
  const sums = new Map<string, number>();
  for (const { version, devices } of points) {
    if (version === null) continue;
    sums.set(version, (sums.get(version) ?? 0) + devices);
  }
  const most = [...sums].sort(([, left], [, right]) => right - left);
  return new Set(most.slice(0, VERSIONS_MAX).map(([version]) => version));
}

/** Returns the rows, newest version first, with those that are no version after them. */
function inOrder<Row extends { readonly name: string }>(rows: readonly Row[]): readonly Row[] {
  const last = [UNKNOWN, OTHERS].flatMap((name) => rows.filter((row) => row.name === name));
  const versions = rows.filter((row) => !last.includes(row));
  return [...byVersion(versions, ({ name }) => name), ...last];
}

function seriesNameOf(version: string): string {
  return version === '' ? UNKNOWN : version;
}
