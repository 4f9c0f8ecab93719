// Formatting of times in the console's language: how long ago for recent ones, the date for older ones,
// always in the reader's zone.

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;

const TIME_STEPS = [
  [DAY_MS, 'day'],
  [HOUR_MS, 'hour'],
  [MINUTE_MS, 'minute'],
] as const;

const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const DAY = new Intl.DateTimeFormat('en', { dateStyle: 'medium' });
const EXACT = new Intl.DateTimeFormat('en', { dateStyle: 'full', timeStyle: 'long' });

/** Formats a time relative to now: `just now`, `3 minutes ago`, `in 2 days`; beyond a week, the date. */
export function timeText(at: Date, nowMs: number): string {
  const difference = at.getTime() - nowMs;
  const distance = Math.abs(difference);
  if (distance < MINUTE_MS) return 'just now';
  if (distance >= WEEK_MS) return DAY.format(at);
  const [stepMs, unit] = TIME_STEPS.find(([ms]) => distance >= ms) ?? [MINUTE_MS, 'minute'];
  // Rounded, so that what begins at seven days says seven: past times count whole steps only.
  const steps = difference > 0 ? Math.round(difference / stepMs) : Math.trunc(difference / stepMs);
  return RELATIVE.format(steps, unit);
}

const MOMENT: Intl.DateTimeFormatOptions = {
  month: 'short',
  day: 'numeric',
  hour: 'numeric',
  minute: '2-digit',
  timeZoneName: 'short',
};
const AT = new Intl.DateTimeFormat('en', MOMENT);
const AT_IN_YEAR = new Intl.DateTimeFormat('en', { ...MOMENT, year: 'numeric' });

/**
 * Formats date and time with the reader's zone, and how long ago it is where that is not a date again:
 * `Nov 23, 2:02 PM GMT+1 · 3 hours ago`. The year is there when it is another one.
 */
export function zonedTimeText(at: Date, nowMs: number): string {
  const isThisYear = at.getFullYear() === new Date(nowMs).getFullYear();
  const text = (isThisYear ? AT : AT_IN_YEAR).format(at);
  return Math.abs(at.getTime() - nowMs) < WEEK_MS ? `${text} · ${timeText(at, nowMs)}` : text;
}

/** Formats date, time to the second, and time zone. */
export function exactTimeText(at: Date): string {
  return EXACT.format(at);
}
