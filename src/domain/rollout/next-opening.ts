// Hours of the week in which a plan may begin steps, in a time zone.

import { WEEK_DAYS } from '../../contract/choice.ts';
import type { RaiseHours } from '../../contract/rollout-plan.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Days searched for an opening: two weeks, because a clock change may skip one, and a day to spare. */
const DAYS_MAX = 16;

/** Local date and time of a time zone, in milliseconds since 1970 as if it were UTC. */
type WallMs = number;

/**
 * Returns the first moment within the hours at or after `atMs`, in milliseconds since 1970. An opening that a
 * clock change skips moves to the first moment after the gap; if it occurs twice, the first time counts. If
 * `from` is after `to`, the hours last until the next day.
 */
export function nextOpening({ days, from, to, timeZone }: RaiseHours, atMs: number): number {
  const format = wallFormat(timeZone);
  const midnight = Math.floor(wallOf(format, atMs) / DAY_MS) * DAY_MS;
  const [fromMs, toMs] = [minuteOf(from) * MINUTE_MS, minuteOf(to) * MINUTE_MS];
  const closesOn = toMs > fromMs ? 0 : DAY_MS;
  // Yesterday's hours may last until today.
  for (let day = -1; day < DAYS_MAX; day++) {
    const date = midnight + day * DAY_MS;
    const name = WEEK_DAYS[new Date(date).getUTCDay()];
    if (name === undefined || !days.includes(name)) continue;
    const opens = momentOf(format, date + fromMs);
    const closes = momentOf(format, date + closesOn + toMs);
    if (closes > atMs && closes > opens) return Math.max(opens, atMs);
  }
  throw new Error('The hours of a plan never open');
}

/** Returns whether a time zone has this name. */
export function isTimeZone(name: string): boolean {
  try {
    wallFormat(name);
    return true;
  } catch {
    return false;
  }
}

const formats = new Map<string, Intl.DateTimeFormat>();

function wallFormat(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    ...{ timeZone, calendar: 'gregory', numberingSystem: 'latn', hourCycle: 'h23' },
    ...{ year: 'numeric', month: 'numeric', day: 'numeric' },
    ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
  });
  if (formats.size >= FORMATS_MAX) formats.clear();
  formats.set(timeZone, format);
  return format;
}

const FORMATS_MAX = 1000;

function wallOf(format: Intl.DateTimeFormat, atMs: number): WallMs {
  const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]));
  const part = (name: Intl.DateTimeFormatPartTypes) => parts.get(name) ?? 0;
  const date = Date.UTC(part('year'), part('month') - 1, part('day'));
  return date + ((part('hour') * 60 + part('minute')) * 60 + part('second')) * 1000;
}

/**
 * Returns the first moment with this local time, or the end of the gap that skips it. Clocks change by a day
 * at most, and rarely, so the offset is one of those within two days before and after.
 */
function momentOf(format: Intl.DateTimeFormat, wall: WallMs): number {
  const offsets = [-2, -1, 0, 1, 2].map((days) => {
    const near = wall + days * DAY_MS;
    return wallOf(format, near) - near;
  });
  const moments = [...new Set(offsets)].map((offset) => wall - offset).sort((a, b) => a - b);
  const exact = moments.find((moment) => wallOf(format, moment) === wall);
  return exact ?? endOfGap(format, wall, moments);
}

/** Returns the first moment after the gap that skips this local time, between two moments. */
function endOfGap(format: Intl.DateTimeFormat, wall: WallMs, moments: readonly number[]): number {
  let before = (moments[0] ?? wall) - MINUTE_MS;
  let after = moments.at(-1) ?? wall;
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (wallOf(format, middle) < wall) before = middle;
    else after = middle;
  }
  return after;
}

function minuteOf(time: string): number {
  const [hours, minutes] = time.split(':').map(Number);
  return (hours ?? 0) * 60 + (minutes ?? 0);
}
