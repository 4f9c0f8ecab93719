// Index of a snapshot: the channel's own state, and the edition of each release that it has. Whoever has the
// releases of another index reads only those that are new, so that a change costs what changed, however many
// releases a channel has and however long their notes are.

import {
  type Artifact,
  RELEASE_STATUSES,
  TARGET_OPERATORS,
  type Targeting,
  UPDATE_MODES,
} from '../../contract/resource.ts';
import {
  compareServing,
  type ServingSnapshot,
  type SnapshotRelease,
} from '../../domain/decision/serving-snapshot.ts';

export type SnapshotIndex = {
  readonly head: SnapshotHead;
  /** Entries of all releases as `parseEntries` reads them, in the order that they have in the snapshot. */
  readonly entries: string;
};

/** Snapshot without its releases. */
type SnapshotHead = Omit<ServingSnapshot, 'releases'>;

/** Release of an index. */
export type IndexEntry = {
  readonly edition: string;
  /** Whether the release was offered, which is no part of its edition. */
  readonly isOffered: boolean;
  /** Whether it is of the channel that this one follows, which is no part of its edition either. */
  readonly isFollowed: boolean;
};

const EDITION = /^\w[\w.-]{0,63}$/;
const SEPARATOR = ' ';
const OFFERED = '*';
const FOLLOWED = '~';

/** Index of a snapshot as text, and the number of its releases that were offered. */
type WrittenIndex = {
  /** Line of JSON with the head. */
  readonly head: string;
  readonly entries: string;
  readonly offered: number;
};

/** Indexes that were written, since every store gets the index of a snapshot. */
const written = new WeakMap<ServingSnapshot, WrittenIndex>();

/** Writes the index of a snapshot. */
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

/** Remembers the index of a snapshot that was made from it. */
export function noteIndex(snapshot: ServingSnapshot, index: WrittenIndex): void {
  written.set(snapshot, index);
}

/** Counts the entries of releases that were offered. */
export function countOfferedEntries(entries: string): number {
  return entries === '' ? 0 : entries.split(OFFERED).length - 1;
}

/** Returns the one text of an index, which `parseIndex` reads. */
export function indexText({ head, entries }: WrittenIndex): string {
  return `${head}\n${entries}`;
}

/**
 * Parses the text of an index; undefined when it is anything else. The entries are checked when they are
 * parsed.
 */
export function parseIndex(text: string): SnapshotIndex | undefined {
  const end = text.indexOf('\n');
  if (end === -1) return undefined;
  const head = parseJson(text.slice(0, end));
  return isHead(head) ? { head, entries: text.slice(end + 1) } : undefined;
}

/**
 * Parses entries that are separated by spaces: an edition, then a `~` when the release is of the followed
 * channel, then a `*` when it was offered; undefined when one of them is no such entry.
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

/** Compares the indexes of two copies of one channel, as `compareSnapshots` compares the snapshots. */
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
    (value.minimumSupportedVersion === null || typeof value.minimumSupportedVersion === 'string')
  );
}

// One release of a snapshot as JSON. The text belongs to its edition: it never changes, so it is written and
// read once. Whether the release was offered is not in it, since that changes within an edition.

/** Release as it is stored: the same for as long as it has this edition. */
export type ReleaseEdition = Omit<SnapshotRelease, 'offered' | 'followed'>;

/** Fields of an artifact that are texts where they are present. */
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

/** Returns the text of a release. */
export function releaseText({ offered: _, followed: __, ...release }: SnapshotRelease): string {
  return JSON.stringify(release satisfies ReleaseEdition);
}

/**
 * Parses the text of a release of this edition, made by `releaseText` or by the ledger; undefined when the
 * text is anything else.
 */
export function parseReleaseText(text: string, edition: string): ReleaseEdition | undefined {
  const value = parseJson(text);
  return isRelease(value) && value.edition === edition ? value : undefined;
}

function isRelease(value: unknown): value is ReleaseEdition {
  if (!isObject<ReleaseEdition>(value)) return false;
  return (
    areTexts(value.id, value.edition, value.version, value.notes, value.createdAt) &&
    isOneOf(RELEASE_STATUSES, value.status) &&
    isCount(value.rolloutPct) &&
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

// Checks of JSON that was stored outside the ledger: by another version of the service, by another program,
// or damaged since.

/** Fields of an object whose types are not known yet. */
type Unchecked<Shape> = { readonly [Key in keyof Shape]?: unknown };

/** Parses JSON; returns undefined when the text is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether the value is an object and no list; its fields remain to be checked. */
function isObject<Shape>(value: unknown): value is Unchecked<Shape> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether the value is a list of such items. */
function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem);
}

/** Whether all values are texts. */
function areTexts(...values: readonly unknown[]): boolean {
  return values.every(isText);
}

/** Whether the value is a text. */
function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** Whether the value is a whole number from 0. */
function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Whether the value is one of these texts. */
function isOneOf(allowed: readonly string[], value: unknown): boolean {
  return typeof value === 'string' && allowed.includes(value);
}
