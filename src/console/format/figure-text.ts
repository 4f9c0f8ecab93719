// Formats numbers, times and words in the console's language and the reader's zone: recent times relative,
// older ones as dates.

// Hours follow the reader's locale: texts are English, but not every reader uses AM and PM.

const { hourCycle = 'h23' } = new Intl.DateTimeFormat(undefined, {
  hour: 'numeric',
}).resolvedOptions();

/** Options of every format that shows a time of day. */
export const READER_HOURS: Pick<Intl.DateTimeFormatOptions, 'hourCycle'> = { hourCycle };

const WHOLE = new Intl.NumberFormat('en');
const SHARE = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 2 });
const BYTE_UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;

/** Formats a count: `1,234,567`. */
export function numberText(value: number): string {
  return WHOLE.format(value);
}

/** Formats a percentage, with a no-break space: `14.6 %`. */
export function percentText(percent: number): string {
  return `${SHARE.format(percent / 100).slice(0, -1)}\u00a0%`;
}

/**
 * Formats `part` of `whole` as a percentage: `12.3 %`. Never rounds to 0 or 100 %, but shows `<0.1 %` or
 * `>99.9 %`; `–` if `whole` is 0.
 */
export function shareText(part: number, whole: number): string {
  if (whole <= 0) return '–';
  const share = part / whole;
  if (share > 0 && share < 0.001) return `<${percentText(0.1)}`;
  if (share < 1 && share > 0.999) return `>${percentText(99.9)}`;
  return percentText(Math.round(share * 1000) / 10);
}

/** Formats a number of bytes: `12.3 MB`. */
export function bytesText(bytes: number): string {
  const step = bytes < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(bytes) / 3));
  const unit = BYTE_UNITS[step] ?? 'byte';
  return new Intl.NumberFormat('en', {
    style: 'unit',
    unit,
    unitDisplay: step === 0 ? 'long' : 'short',
    maximumFractionDigits: 1,
  }).format(bytes / 1000 ** step);
}

/** Formats a count with its noun: `1 device`, `1,200 devices`. */
export function countText(count: number, one: string, many = `${one}s`): string {
  return `${numberText(count)} ${count === 1 ? one : many}`;
}

const MIDDLE_LENGTH_MAX = 40;

/** Leaves out the middle of a long text: `acme-notes-2.…-x86_64.AppImage`. */
export function middleText(text: string): string {
  if (text.length <= MIDDLE_LENGTH_MAX) return text;
  const half = Math.floor((MIDDLE_LENGTH_MAX - 1) / 2);
  return `${text.slice(0, half)}…${text.slice(-half)}`;
}

const MINUTE_UNITS = [
  [1440, 'day'],
  [60, 'hour'],
] as const;

/** Formats minutes in the largest unit without a remainder: `2 days`, `36 hours`, `90 minutes`. */
export function minutesText(minutes: number): string {
  const [size, unit] = MINUTE_UNITS.find(([each]) => minutes >= each && minutes % each === 0) ?? [
    1,
    'minute',
  ];
  return countText(minutes / size, unit);
}

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
const EXACT = new Intl.DateTimeFormat('en', {
  ...{ dateStyle: 'full', timeStyle: 'long', ...READER_HOURS },
});

/** Formats a time relative to now: `just now`, `3 minutes ago`, `in 2 days`; beyond a week the date. */
export function timeText(at: Date, nowMs: number): string {
  const difference = at.getTime() - nowMs;
  const distance = Math.abs(difference);
  if (distance < MINUTE_MS) return 'just now';
  if (distance >= WEEK_MS) return DAY.format(at);
  const [stepMs, unit] = TIME_STEPS.find(([ms]) => distance >= ms) ?? [MINUTE_MS, 'minute'];
  // A future time is rounded, so that one just below seven days is "in 7 days"; a past one counts whole
  // steps.
  const steps = difference > 0 ? Math.round(difference / stepMs) : Math.trunc(difference / stepMs);
  return RELATIVE.format(steps, unit);
}

const MOMENT: Intl.DateTimeFormatOptions = {
  month: 'short',
  day: 'numeric',
  hour: 'numeric',
  minute: '2-digit',
  timeZoneName: 'short',
  ...READER_HOURS,
};
const AT = new Intl.DateTimeFormat('en', MOMENT);
const AT_IN_YEAR = new Intl.DateTimeFormat('en', { ...MOMENT, year: 'numeric' });

/**
 * Formats date and time with the reader's zone, and within a week also relative to now: `Nov 23, 2:02 PM
 * GMT+1 · 3 hours ago`. Shows the year if it is not the present one.
 */
export function zonedTimeText(at: Date, nowMs: number): string {
  const isThisYear = at.getFullYear() === new Date(nowMs).getFullYear();
  const text = (isThisYear ? AT : AT_IN_YEAR).format(at);
  return Math.abs(at.getTime() - nowMs) < WEEK_MS ? `${text} · ${timeText(at, nowMs)}` : text;
}

/** Formats date and time with the year and the reader's zone: `Nov 23, 2026, 14:02 GMT+1`. */
export function momentText(at: Date): string {
  return AT_IN_YEAR.format(at);
}

/** Formats date, time to the second, and time zone. */
export function exactTimeText(at: Date): string {
  return EXACT.format(at);
}

/** Returns the text with its first letter in upper case. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
