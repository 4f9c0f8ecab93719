// Converts adoption data for charts and tables: one row of numbers per version over the same times, and two
// releases at the same ages.

import type { Adoption, AdoptionStepPoint } from '../../contract/console-fleet.ts';
import type { AdoptionStep } from '../../contract/resource.ts';
import type { AdoptionAtAge, AdoptionCurve, ReleaseAdoption } from '../../contract/rollout-plan.ts';
import { byVersion } from '../../domain/decision/version.ts';

export type AdoptionSeries = {
  /** Times of the columns in seconds since 1970, ascending. */
  readonly times: readonly number[];
  /** Times at which the true numbers may be higher. */
  readonly minimums: ReadonlySet<number>;
  /** Rows by version, newest first; the sum of all other versions, if any, is last. */
  readonly versions: readonly {
    readonly name: string;
    readonly devices: readonly number[];
  }[];
};

/** Time range for each step length, with as many bars as can be distinguished. */
export const STEP_SPAN_MS: Readonly<Record<AdoptionStep, number>> = {
  hour: 48 * 3_600_000,
  day: 30 * 86_400_000,
  month: 365 * 86_400_000,
};

/** Maximum number of versions with a row, because more colors cannot be distinguished. */
const VERSIONS_MAX = 8;
const OTHERS = 'Others';
const UNKNOWN = 'Unknown';

/**
 * Sorts the points of an answer into rows: the versions with most devices, and one row for all others.
 * Ignores the points of a request without a step.
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

/** Stacks the rows: each value becomes its sum with the rows before. Hidden rows have no values. */
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

/** Returns whether a row is a version, not a sum of others. */
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

/** Returns the rows, newest version first, then those that are not a version. */
function inOrder<Row extends { readonly name: string }>(rows: readonly Row[]): readonly Row[] {
  const last = [UNKNOWN, OTHERS].flatMap((name) => rows.filter((row) => row.name === name));
  const versions = rows.filter((row) => !last.includes(row));
  return [...byVersion(versions, ({ name }) => name), ...last];
}

function seriesNameOf(version: string): string {
  return version === '' ? UNKNOWN : version;
}

/** Percentages at ages in hours; null where a release has no numbers. */
export type AgeSeries = {
  readonly hours: readonly number[];
  readonly release: readonly (number | null)[];
  readonly before: readonly (number | null)[];
};

/** Numbers of each release at an age; null where a release has none. */
export type AgeRow = {
  readonly label: string;
  readonly release: AgeCounts | null;
  readonly before: AgeCounts | null;
};

/** Devices that had installed a release, and those that were offered it or installed it without an offer. */
export type AgeCounts = { readonly devices: number; readonly reached: number };

/** Ages in hours in the table, besides the present one. */
const TABLE_HOURS = [1, 6, 24, 72, 168, 336, 720];
/** Maximum number of rows before the present one, so that the table stays as small as the chart. */
const AGE_ROWS_MAX = 4;
const DAY_HOURS = 24;

/**
 * Turns counts into percentages of the devices that each release had reached, at the same ages: a rollout at
 * 25 % can be compared with one at 100 %.
 */
export function ageSeries({ release, before }: ReleaseAdoption): AgeSeries {
  const longest = release.ages.length > 0 ? release : before;
  const hours = (longest?.ages ?? []).map((each) => each.hours);
  const shares = (curve: AdoptionCurve | null) =>
    hours.map((_, index) => {
      const counts = curve?.ages[index];
      if (counts === undefined) return null;
      const { devices, reached } = countsOf(counts);
      return reached === 0 ? 0 : (devices / reached) * 100;
    });
  return {
    hours: [0, ...hours],
    release: [release.ages.length === 0 ? null : 0, ...shares(release)],
    before: [(before?.ages.length ?? 0) === 0 ? null : 0, ...shares(before)],
  };
}

/** Returns the numbers at a few ages; the present age is last. */
export function ageRows({ release, before }: ReleaseAdoption): readonly AgeRow[] {
  const present = release.ages.at(-1)?.hours ?? before?.ages.at(-1)?.hours ?? 0;
  const rowOf = (label: string, hours: number): AgeRow => ({
    label,
    release: countsAt(release, hours),
    before: before === null ? null : countsAt(before, hours),
  });
  const first = release.ages[0]?.hours ?? before?.ages[0]?.hours ?? 0;
  const past = TABLE_HOURS.filter((hours) => hours >= first && hours < present).slice(
    -AGE_ROWS_MAX,
  );
  return [
    ...past.map((hours) => rowOf(`After ${ageText(hours)}`, hours)),
    rowOf(`Now, after ${ageText(present)}`, present),
  ];
}

/** Formats an age in hours and days: `6 h`, `3 d`, `1 d 6 h`. */
export function ageText(hours: number): string {
  const days = Math.floor(hours / DAY_HOURS);
  const rest = hours % DAY_HOURS;
  if (days === 0) return `${rest} h`;
  return rest === 0 ? `${days} d` : `${days} d ${rest} h`;
}

/** Returns the numbers at the newest age that is not above `hours`. */
function countsAt({ ages }: AdoptionCurve, hours: number): AgeCounts | null {
  if (ages.length === 0) return null;
  const counts = ages.findLast((each) => each.hours <= hours);
  return counts === undefined ? { devices: 0, reached: 0 } : countsOf(counts);
}

function countsOf({ devices, offered }: AdoptionAtAge): AgeCounts {
  return { devices, reached: Math.max(devices, offered) };
}
