// Formats that Sparkle (on macOS) and WinSparkle (on Windows) install, and their order of build numbers.

const FORMATS: Readonly<Record<string, (format: string) => boolean>> = {
  // `app.tar.gz` is for Tauri's updater.
  darwin: (format) => ['zip', 'dmg', 'pkg'].includes(format) || format.startsWith('tar.'),
  windows: (format) => ['nsis', 'exe', 'msi'].includes(format),
};

/** Returns whether Sparkle (platform `darwin`) or WinSparkle (`windows`) installs files of a format. */
export function isSparkleFormat(platform: string, format: string | undefined): boolean {
  return format !== undefined && FORMATS[platform]?.(format) === true;
}

// Order of build numbers (`CFBundleVersion`) as Sparkle compares them, by its SUStandardVersionComparator:
// numbers by their value, words by their letters, and a word before a number (`1.0b1` is below `1.0`).
// WinSparkle compares in the same way.

const PARTS = /\d+|[a-z]+/gi;
const NUMBER = /^\d/;

/** Compares two build numbers: negative if `left` is lower, positive if it is higher. */
export function compareBuildNumbers(left: string, right: string): number {
  const [own, others] = [partsOf(left), partsOf(right)];
  const count = Math.max(own.length, others.length);
  for (let index = 0; index < count; index++) {
    const order = compareParts(own[index], others[index]);
    if (order !== 0) return order;
  }
  return 0;
}

function partsOf(text: string): readonly string[] {
  return text.toLowerCase().match(PARTS) ?? [];
}

/** Compares two parts; a part that is missing counts as 0, and so is above a word. */
function compareParts(left = '0', right = '0'): number {
  const [isNumber, isOther] = [NUMBER.test(left), NUMBER.test(right)];
  if (isNumber !== isOther) return isNumber ? 1 : -1;
  const [own, other] = isNumber ? [plainNumber(left), plainNumber(right)] : [left, right];
  if (isNumber && own.length !== other.length) return own.length - other.length;
  return own === other ? 0 : own < other ? -1 : 1;
}

function plainNumber(digits: string): string {
  return digits.replace(/^0+(?=\d)/, '');
}
