// Index of a snapshot: the channel's own state, and the edition of each release that it has. Whoever has the
// releases of another index reads only those that are new, so that a change costs what changed, however many
// releases a channel has and however long their notes are.

import { UPDATE_MODES } from '../../contract/resource.ts';
import { compareServing, type ServingSnapshot } from '../../domain/decision/serving-snapshot.ts';
import { areTexts, isCount, isObject, isOneOf, parseJson } from './parse-json.ts';

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

/** What a channel was that a node of an older version wrote without these fields. */
const OLDER_HEAD = { requireSignature: false, follows: null } as const;

/** Index of a snapshot as text, and the number of its releases that were offered. */
export type WrittenIndex = {
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
  const whole = isObject<SnapshotHead>(head) ? { ...OLDER_HEAD, ...head } : head;
  return isHead(whole) ? { head: whole, entries: text.slice(end + 1) } : undefined;
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
