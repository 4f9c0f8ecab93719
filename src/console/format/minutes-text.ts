// Formatting of waits that are given in minutes.

import { countText } from './number-text.ts';

const MINUTE_UNITS = [
  [1440, 'day'],
  [60, 'hour'],
] as const;

/** Formats minutes in the largest unit that leaves no rest: `2 days`, `36 hours`, `90 minutes`. */
export function minutesText(minutes: number): string {
  const [size, unit] = MINUTE_UNITS.find(([each]) => minutes >= each && minutes % each === 0) ?? [
    1,
    'minute',
  ];
  return countText(minutes / size, unit);
}
