// Texts that the service can store and display, and the formats of times, paths and names.

// PostgreSQL stores no NUL, and an unpaired surrogate has no UTF-8 form. Callers check names for both first:
// a name that cannot be stored is unknown, and must not become an error of the database.

const REPLACEMENT = '\ufffd';

/** Replaces each character that cannot be stored by U+FFFD. */
export function storableText(text: string): string {
  return isStorable(text) ? text : text.toWellFormed().replaceAll('\u0000', REPLACEMENT);
}

/** Reason for refusing a text that cannot be stored. */
export const NOT_STORABLE = 'Must not contain NUL or broken characters';

/** Returns whether all of these texts can be stored unchanged. */
export function isStorable(...texts: readonly string[]): boolean {
  return texts.every((text) => text.isWellFormed() && !text.includes('\u0000'));
}

/** Returns a text without the line break at its end, if it has one. */
export function withoutLineBreak(text: string): string {
  return text.replace(/\r?\n$/, '');
}

/** Reason for refusing a text with control characters. */
export const HAS_CONTROLS = 'Must not contain control characters';

/** Returns whether a text has control characters other than those in `allowed`. */
export function hasControls(text: string, allowed = ''): boolean {
  return (text.match(CONTROL) ?? []).some((char) => !allowed.includes(char));
}

/** Control characters: those of ASCII, DEL, and U+0080 to U+009F. */
const CONTROL = /\p{Cc}/gu;

/**
 * Bidirectional control characters of Unicode (UAX #9, section 2): they are invisible, and make the text
 * around them look different.
 */
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
/**
 * Characters that affect how a text is displayed: control characters, which form escape sequences of
 * terminals, line breaks, and bidirectional control characters.
 */
const STEERING = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Returns whether a text has bidirectional control characters. */
export function turnsText(text: string): boolean {
  return TURNING.test(text);
}

/** Replaces each character that affects how a text is displayed by its JSON escape, such as `\u202e`. */
export function showSteering(text: string): string {
  return text.replace(STEERING, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Returns whether a text has more than `max` code points; counts them only if UTF-16 units do not decide. */
export function isLongerThan(text: string, max: number): boolean {
  if (text.length <= max) return false;
  if (text.length > max * 2) return true;
  return [...text].length > max;
}

/** Formats a time in milliseconds since 1970 as the contract does: ISO 8601 in UTC with milliseconds. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** Returns the word for a key, or the key itself if it has none. */
export function wordFor(words: Readonly<Record<string, string>>, key: string): string {
  return Object.hasOwn(words, key) ? (words[key] ?? key) : key;
}

// Names as segments of paths of the console, in its pages and in links of messages. A name that would mean
// something else there, such as the page `fleet`, gets a leading `~`, which no channel name has.

/** Segments below an app's path that are pages of the console. */
const RESERVED: ReadonlySet<string> = new Set(['fleet', 'devices']);

/** Returns whether clients remove this segment from a path, as the URL standard asks, encoded or not. */
export function isFoldedAway(segment: string): boolean {
  return segment === '.' || segment === '..';
}

/** Encodes a text as one path segment; `readSegment` decodes it. */
export function pathSegment(text: string): string {
  const isTaken = RESERVED.has(text) || isFoldedAway(text) || text.startsWith('~');
  return encodeURIComponent(isTaken ? `~${text}` : text);
}

/** Returns the text of a segment that the router has percent-decoded. */
export function readSegment(segment: string): string {
  return segment.startsWith('~') ? segment.slice(1) : segment;
}

const NAMES: ReadonlyMap<string, string> = new Map([
  ['darwin', 'macOS'],
  ['windows', 'Windows'],
  ['linux', 'Linux'],
  ['android', 'Android'],
  ['ios', 'iOS'],
]);

/** Returns the name of a folded platform, such as `macOS` for `darwin`; an unknown one stays as it is. */
export function platformName(platform: string): string {
  return NAMES.get(platform) ?? platform;
}
