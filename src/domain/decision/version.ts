// Versions as publishers write them ("semver-ish"): one to four numeric parts, optional prerelease and build.
// Their order is that of SemVer 2.0.0 item 11 with two additions: the fourth part compares after patch, and
// build metadata breaks a tie (as in the Rust semver crate, which Tauri uses).

import { LIMIT } from '../../contract/limit.ts';

/** Numeric part: a bigint where a double is not exact. `<` compares numbers with bigints exactly. */
type Numeric = number | bigint;
type BuildIdentifier = { readonly value: Numeric | string; readonly digits: number };

export type Version = {
  /** Spelling that all equal versions share: `v1.2` and `1.2.0` are both `1.2.0`. */
  readonly canonical: string;
  readonly parts: readonly [Numeric, Numeric, Numeric, Numeric];
  /** First three parts as one number in the same order; NaN if one of them is too large. */
  readonly rank: number;
  readonly prerelease: readonly (Numeric | string)[];
  readonly build: readonly BuildIdentifier[];
};

const GRAMMAR =
  /^[vV]?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$/;
const DIGITS = /^\d+$/;
const SAFE_DIGITS = 15;
const NO_IDENTIFIERS: readonly never[] = [];
const [DOT, ZERO, NINE] = [46, 48, 57];

/** Parses a version; undefined if the text is no version. Never throws. */
export function parseVersion(text: string): Version | undefined {
  if (text.length > LIMIT.versionLengthMax) return undefined;
  return readPlain(text) ?? readAny(text);
}

/**
 * Parses the usual form `1.2.3`, which is already canonical; undefined for any other text. It is ten times as
 * fast as the grammar, which matters for versions that devices report for the first time.
 */
function readPlain(text: string): Version | undefined {
  const parts: [number, number, number, number] = [0, 0, 0, 0];
  let part = 0;
  let value = 0;
  let digits = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === DOT && digits > 0 && part < 2) {
      parts[part] = value;
      part += 1;
      value = 0;
      digits = 0;
      continue;
    }
    const hasLeadingZero = digits > 0 && value === 0;
    if (code < ZERO || code > NINE || hasLeadingZero || digits === SAFE_DIGITS) return undefined;
    value = value * 10 + code - ZERO;
    digits += 1;
  }
  if (part < 2 || digits === 0) return undefined;
  parts[2] = value;
  const rank = rankOf(parts);
  return { canonical: text, parts, rank, prerelease: NO_IDENTIFIERS, build: NO_IDENTIFIERS };
}

function readAny(text: string): Version | undefined {
  const match = GRAMMAR.exec(text);
  if (match === null) return undefined;
  const parts: Version['parts'] = [
    toNumeric(match[1] ?? '0'),
    toNumeric(match[2] ?? '0'),
    toNumeric(match[3] ?? '0'),
    toNumeric(match[4] ?? '0'),
  ];
  const prerelease = match[5] === undefined ? [] : match[5].split('.').map(toIdentifier);
  const build = match[6] === undefined ? [] : match[6].split('.').map(toBuildIdentifier);
  const canonical = spell(parts, prerelease, match[6]);
  return { canonical, parts, rank: rankOf(parts), prerelease, build };
}

/**
 * Total order over versions: negative if `left` is lower, positive if higher, 0 exactly if the canonical
 * spellings are equal.
 */
export function compareVersions(left: Version, right: Version): number {
  // Ranks decide most comparisons. If they are equal or one is NaN, neither is lower.
  if (left.rank < right.rank) return -1;
  if (left.rank > right.rank) return 1;
  for (let index = 0; index < 4; index++) {
    const order = compareNumeric(left.parts[index] ?? 0, right.parts[index] ?? 0);
    if (order !== 0) return order;
  }
  return (
    comparePrerelease(left.prerelease, right.prerelease) || compareBuild(left.build, right.build)
  );
}

/**
 * Returns whether npm's `semver` accepts the canonical form: no fourth part, and no number above
 * `MAX_SAFE_INTEGER`.
 */
export function isSemVer({ parts }: Version): boolean {
  return parts[3] === 0 && parts.every((part) => part <= Number.MAX_SAFE_INTEGER);
}

/** Base of ranks: three numbers of 17 bits are exact in a double. */
const RANK_BASE = 2 ** 17;

function rankOf([major, minor, patch]: Version['parts']): number {
  if (!(major < RANK_BASE && minor < RANK_BASE && patch < RANK_BASE)) return Number.NaN;
  return (Number(major) * RANK_BASE + Number(minor)) * RANK_BASE + Number(patch);
}

function toNumeric(digits: string): Numeric {
  return digits.length <= SAFE_DIGITS ? Number(digits) : shorten(BigInt(digits));
}

/** Returns one representation per value, so that leading zeros cannot make equal numbers differ. */
function shorten(value: bigint): Numeric {
  return value < 10n ** BigInt(SAFE_DIGITS) ? Number(value) : value;
}

function toIdentifier(text: string): Numeric | string {
  return DIGITS.test(text) ? toNumeric(text) : text;
}

function toBuildIdentifier(text: string): BuildIdentifier {
  return { value: toIdentifier(text), digits: text.length };
}

function spell(
  parts: Version['parts'],
  prerelease: Version['prerelease'],
  build: string | undefined,
): string {
  const [major, minor, patch, revision] = parts;
  const core = `${major}.${minor}.${patch}${revision === 0 ? '' : `.${revision}`}`;
  const before = prerelease.length === 0 ? '' : `-${prerelease.join('.')}`;
  return `${core}${before}${build === undefined ? '' : `+${build}`}`;
}

function compareNumeric(left: Numeric, right: Numeric): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Orders identifiers by SemVer item 11.4: numbers by value, text by ASCII, numbers below text. */
function compareIdentifier(left: Numeric | string, right: Numeric | string): number {
  const leftIsText = typeof left === 'string';
  const rightIsText = typeof right === 'string';
  if (leftIsText && rightIsText) return left < right ? -1 : left > right ? 1 : 0;
  if (leftIsText) return 1;
  if (rightIsText) return -1;
  return compareNumeric(left, right);
}

function comparePrerelease(left: Version['prerelease'], right: Version['prerelease']): number {
  // A version without prerelease is above all its prereleases.
  if (left.length === 0 || right.length === 0) return right.length - left.length;
  const shared = Math.min(left.length, right.length);
  for (let index = 0; index < shared; index++) {
    const order = compareIdentifier(left[index] ?? '', right[index] ?? '');
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function compareBuild(left: Version['build'], right: Version['build']): number {
  const shared = Math.min(left.length, right.length);
  for (let index = 0; index < shared; index++) {
    const a = left[index] as BuildIdentifier;
    const b = right[index] as BuildIdentifier;
    // Build metadata keeps its leading zeros, so equal numbers still need an order: fewer digits first.
    const order = compareIdentifier(a.value, b.value) || a.digits - b.digits;
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

/** Returns the items, highest version first. An item whose version does not parse comes last. */
export function byVersion<Item>(
  items: readonly Item[],
  versionOf: (item: Item) => string,
): readonly Item[] {
  return items
    .map((item): [Item, Version | undefined] => [item, parseVersion(versionOf(item))])
    .sort(([, left], [, right]) => {
      if (left === undefined || right === undefined) {
        return Number(left === undefined) - Number(right === undefined);
      }
      return compareVersions(right, left);
    })
    .map(([item]) => item);
}
