// Formatting of numbers in the reader's language.

const WHOLE = new Intl.NumberFormat('en');
const SHARE = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });
const BYTE_UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;

/** Formats a count: `1,234,567`. */
export function numberText(value: number): string {
  return WHOLE.format(value);
}

/**
 * Formats the share of `part` in `whole`: `12.3%`. Never rounds to 0 or 100 %: a few devices of many
 * are `<0.1%`, all but a few are `>99.9%`. Of nothing there is no share: `–`.
 */
export function shareText(part: number, whole: number): string {
  if (whole <= 0) return '–';
  const share = part / whole;
  if (share > 0 && share < 0.001) return `<${SHARE.format(0.001)}`;
  if (share < 1 && share > 0.999) return `>${SHARE.format(0.999)}`;
  return SHARE.format(share);
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
