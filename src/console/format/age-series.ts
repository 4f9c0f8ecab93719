// Conversion of the adoption of two releases for the chart and the table that lay them side by side.

import type { AdoptionCurve, ReleaseAdoption } from '../../contract/release-trouble.ts';

/** Shares in percent at ages in hours; null where a release has no figures. */
export type AgeSeries = {
  readonly hours: readonly number[];
  readonly release: readonly (number | null)[];
  readonly before: readonly (number | null)[];
};

/** Devices that had installed each release at an age; null where a release has no figures. */
export type AgeRow = {
  readonly label: string;
  readonly release: number | null;
  readonly before: number | null;
};

/** Ages in hours at which the table compares, beside the present one. */
const TABLE_HOURS = [1, 6, 24, 72, 168, 336, 720];
/** Maximum number of rows before the present one, so that the table stays as small as the chart. */
const AGE_ROWS_MAX = 4;
const DAY_HOURS = 24;

/** Turns counts into shares of the devices that the channel has now, both at the same ages. */
export function ageSeries({ release, before, fleet }: ReleaseAdoption): AgeSeries {
  const longest = release.ages.length > 0 ? release : before;
  const hours = (longest?.ages ?? []).map((each) => each.hours);
  const shares = (curve: AdoptionCurve | null) =>
    hours.map((_, index) => {
      const devices = curve?.ages[index]?.devices;
      return devices === undefined || fleet <= 0 ? null : Math.min(100, (devices / fleet) * 100);
    });
  return {
    hours: [0, ...hours],
    release: [release.ages.length === 0 ? null : 0, ...shares(release)],
    before: [(before?.ages.length ?? 0) === 0 ? null : 0, ...shares(before)],
  };
}

/** Returns the figures at a few ages, the present one last. */
export function ageRows({ release, before }: ReleaseAdoption): readonly AgeRow[] {
  const present = release.ages.at(-1)?.hours ?? before?.ages.at(-1)?.hours ?? 0;
  const rowOf = (label: string, hours: number): AgeRow => ({
    label,
    release: devicesAt(release, hours),
    before: before === null ? null : devicesAt(before, hours),
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

/** Formats an age in the unit that people reckon in: `6 h`, `3 d`, `1 d 6 h`. */
export function ageText(hours: number): string {
  const days = Math.floor(hours / DAY_HOURS);
  const rest = hours % DAY_HOURS;
  if (days === 0) return `${rest} h`;
  return rest === 0 ? `${days} d` : `${days} d ${rest} h`;
}

/** Devices at the newest age that is not above the one asked for. */
function devicesAt({ ages }: AdoptionCurve, hours: number): number | null {
  if (ages.length === 0) return null;
  return ages.findLast((each) => each.hours <= hours)?.devices ?? 0;
}
