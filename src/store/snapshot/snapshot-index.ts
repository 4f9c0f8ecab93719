// Index of a snapshot: the channel's state and the edition of each release. A reader that has the releases of
// another index reads only the new editions, so a change costs only what changed.

import {
  DDI_AUTHS,
  DDI_KEYS,
  RELEASE_STATUSES,
  TARGET_OPERATORS,
  UNKNOWN_VERSION_EFFECTS,
  UPDATE_MODES,
} from '../../contract/choice.ts';
import type { Artifact, DdiSettings, Targeting } from '../../contract/resource.ts';
import {
  compareServing,
  type ServingSnapshot,
  type SnapshotRelease,
} from '../../domain/decision/serving-snapshot.ts';

export type SnapshotIndex = {
  readonly head: SnapshotHead;
  /** Entries of all releases as `parseEntries` reads them, in the order of the snapshot. */
  readonly entries: string;
};

type SnapshotHead = Omit<ServingSnapshot, 'releases'>;

export type IndexEntry = {
  readonly edition: string;
  /** Whether the release was offered; this is not part of its edition. */
  readonly isOffered: boolean;
  /** Whether the release belongs to the followed channel; this is not part of its edition either. */
  readonly isFollowed: boolean;
};

const EDITION = /^\w[\w.-]{0,63}$/;
const SEPARATOR = ' ';
const OFFERED = '*';
const FOLLOWED = '~';

/** Index as text, and its number of offered releases. */
type WrittenIndex = {
  /** The head as one line of JSON. */
  readonly head: string;
  readonly entries: string;
  readonly offered: number;
};

/** Indexes already written, because every store gets the same one. */
const written = new WeakMap<ServingSnapshot, WrittenIndex>();

/** Returns the index of a snapshot; it is computed once per snapshot. */
export function writeIndex(snapshot: ServingSnapshot): WrittenIndex {
  const known = written.get(snapshot);
  if (known !== undefined) return known;
  const { releases, ...head } = snapshot;
  let offered = 0;
  const entries = releases.map((release) => {
    const entry = release.followed ? release.edition + FOLLOWED : release.edition;
    if (!release.offered) return entry;
    offered += 1;
    return entry + OFFERED;
  });
  const index = { head: JSON.stringify(head), entries: entries.join(SEPARATOR), offered };
  written.set(snapshot, index);
  return index;
}

/** Remembers the index from which a snapshot was assembled. */
export function noteIndex(snapshot: ServingSnapshot, index: WrittenIndex): void {
  written.set(snapshot, index);
}

/** Returns the number of entries of offered releases. */
export function countOfferedEntries(entries: string): number {
  return entries === '' ? 0 : entries.split(OFFERED).length - 1;
}

/** Returns the text of an index, which `parseIndex` reads. */
export function indexText({ head, entries }: WrittenIndex): string {
  return `${head}\n${entries}`;
}

/** Fields that the head of an earlier version lacks. */
const WITHOUT_DDI = { ddi: null, ddiAuth: null };

/** Parses the text of an index; undefined if malformed. `parseEntries` checks the entries later. */
export function parseIndex(text: string): SnapshotIndex | undefined {
  const end = text.indexOf('\n');
  if (end === -1) return undefined;
  const parsed = parseJson(text.slice(0, end));
  const head = isObject(parsed) ? { ...WITHOUT_DDI, ...parsed } : undefined;
  return isHead(head) ? { head, entries: text.slice(end + 1) } : undefined;
}

/**
 * Parses entries separated by spaces: an edition, `~` if the release belongs to the followed channel, `*` if
 * it was offered. Returns undefined if one is malformed.
 */
export function parseEntries(text: string): readonly IndexEntry[] | undefined {
  if (text === '') return [];
  const entries = text.split(SEPARATOR).map((entry) => {
    const isOffered = entry.endsWith(OFFERED);
    const marked = isOffered ? entry.slice(0, -OFFERED.length) : entry;
    const isFollowed = marked.endsWith(FOLLOWED);
    const edition = isFollowed ? marked.slice(0, -FOLLOWED.length) : marked;
    return { edition, isOffered, isFollowed };
  });
  return entries.every(({ edition }) => EDITION.test(edition)) ? entries : undefined;
}

/** Compares the indexes of two copies of one channel like `compareSnapshots`. */
export function compareIndexes(a: SnapshotIndex, b: SnapshotIndex): number {
  return (
    compareServing(a.head, b.head) ||
    countOfferedEntries(a.entries) - countOfferedEntries(b.entries)
  );
}

function isHead(value: unknown): value is SnapshotHead {
  if (!isObject<SnapshotHead>(value)) return false;
  return (
    areTexts(value.appId, value.appRef, value.channelId, value.channel) &&
    isCount(value.epoch) &&
    isCount(value.revision) &&
    isOneOf(UPDATE_MODES, value.updateMode) &&
    typeof value.requireSignature === 'boolean' &&
    (value.follows === null || typeof value.follows === 'string') &&
    (value.minimumSupportedVersion === null || typeof value.minimumSupportedVersion === 'string') &&
    (value.ddi === null || isDdi(value.ddi)) &&
    (value.ddiAuth === null || isOneOf(DDI_AUTHS, value.ddiAuth))
  );
}

function isDdi(value: unknown): value is DdiSettings {
  if (!isObject<DdiSettings>(value)) return false;
  const { pollSeconds, platform, arch, keys, unknownVersion, retries } = value;
  return (
    [pollSeconds, retries, value.retryAfterMinutes, value.askDays].every(isCount) &&
    typeof platform === 'string' &&
    (arch === null || typeof arch === 'string') &&
    isObject<DdiSettings['keys']>(keys) &&
    areTexts(...DDI_KEYS.map((key) => keys[key])) &&
    isOneOf(UNKNOWN_VERSION_EFFECTS, unknownVersion)
  );
}

// One release as JSON. The text of an edition never changes, so it is written and read once; whether the
// release was offered is not part of it.

/** Release as stored under its edition. */
export type ReleaseEdition = Omit<SnapshotRelease, 'offered' | 'followed'>;

/** Optional text fields of an artifact. */
const OPTIONAL_TEXTS = [
  'arch',
  'url',
  'sha512',
  'signature',
  'format',
  'sha256',
  'sha1',
  'minimumSystemVersion',
  'buildVersion',
] as const satisfies readonly (keyof Artifact)[];

export function releaseText({ offered: _, followed: __, ...release }: SnapshotRelease): string {
  return JSON.stringify(release satisfies ReleaseEdition);
}

/** Parses the text of this edition, from `releaseText` or from the ledger; undefined if malformed. */
export function parseReleaseText(text: string, edition: string): ReleaseEdition | undefined {
  const value = parseJson(text);
  if (!isRelease(value) || value.edition !== edition) return undefined;
  // An upstream of an earlier version has no numbers.
  return { ...value, number: value.number ?? 0, retriedAt: value.retriedAt ?? null };
}

function isRelease(value: unknown): value is ReleaseEdition {
  if (!isObject<ReleaseEdition>(value)) return false;
  return (
    areTexts(value.id, value.edition, value.version, value.notes, value.createdAt) &&
    isOneOf(RELEASE_STATUSES, value.status) &&
    isCount(value.rolloutPct) &&
    (value.number === undefined || isCount(value.number)) &&
    (value.retriedAt === undefined || value.retriedAt === null || isText(value.retriedAt)) &&
    (value.targets === null || isTargeting(value.targets)) &&
    isListOf(value.artifacts, isArtifact)
  );
}

function isArtifact(value: unknown): value is Artifact {
  if (!isObject<Artifact>(value)) return false;
  return (
    typeof value.platform === 'string' &&
    (value.size === undefined || isCount(value.size)) &&
    OPTIONAL_TEXTS.every((name) => value[name] === undefined || typeof value[name] === 'string')
  );
}

function isTargeting(value: unknown): value is Targeting {
  if (!isObject<Targeting>(value)) return false;
  const { matchLabels, matchExpressions } = value;
  return (
    isObject(matchLabels) &&
    Object.values(matchLabels).every((values) => isListOf(values, isText)) &&
    isListOf(matchExpressions, isExpression)
  );
}

function isExpression(value: unknown): boolean {
  if (!isObject<Targeting['matchExpressions'][number]>(value)) return false;
  return (
    typeof value.key === 'string' &&
    isOneOf(TARGET_OPERATORS, value.operator) &&
    isListOf(value.values, isText)
  );
}

// Checks of JSON from outside the ledger: another version or another program may have written it, or it may
// be damaged.

/** Object whose field types are not checked yet. */
type Unchecked<Shape> = { readonly [Key in keyof Shape]?: unknown };

/** Parses JSON; undefined if the text is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns whether the value is an object, not an array; its fields remain unchecked. */
function isObject<Shape>(value: unknown): value is Unchecked<Shape> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem);
}

function areTexts(...values: readonly unknown[]): boolean {
  return values.every(isText);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** Returns whether the value is a whole number from 0. */
function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isOneOf(allowed: readonly string[], value: unknown): boolean {
  return typeof value === 'string' && allowed.includes(value);
}
