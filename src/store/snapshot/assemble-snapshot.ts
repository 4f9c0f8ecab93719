// Assembles a snapshot from its index: reuses the releases at hand and reads the others in batches. Pauses
// regularly, so that a large channel does not block the process.

import { EditionFinder } from '../../domain/decision/artifact/edition-finder.ts';
import type { ServingSnapshot, SnapshotRelease } from '../../domain/decision/serving-snapshot.ts';
import { TimeSlice } from '../../flow/time-slice.ts';
import {
  countOfferedEntries,
  type IndexEntry,
  noteIndex,
  parseEntries,
  parseReleaseText,
  type SnapshotIndex,
  writeIndex,
} from './snapshot-index.ts';

/** Reads the texts of releases by edition, in the same order; null or undefined if the store lacks one. */
type ReadReleases = (
  editions: readonly string[],
) => Promise<readonly (string | null | undefined)[]>;

/** Number of releases in the first batch, and the bounds of the later ones. */
const BATCH = { first: 64, min: 8, max: 1024 } as const;
/** Target length of the texts of a batch, from which the next batch size is computed. */
const BATCH_LENGTH = 1024 * 1024;
const NO_INDEX = { entries: '', offered: 0 };

/**
 * Returns the snapshot of an index; undefined if the store lacks a release. Releases that `known` has are the
 * same objects, so that callers can reuse what they derived from them. Rejects with a `MalformedRelease` for
 * a wrong text, and with a `MalformedIndex` for a wrong entry.
 */
export async function assembleSnapshot(
  { head, entries }: SnapshotIndex,
  known: ServingSnapshot | undefined,
  read: ReadReleases,
): Promise<ServingSnapshot | undefined> {
  const before = known?.releases ?? [];
  const knownIndex = known === undefined ? NO_INDEX : writeIndex(known);
  const { first, last, between, instead } = compareEntries(entries, knownIndex.entries);
  const changed = parseEntries(between);
  if (changed === undefined) throw new MalformedIndex();
  const finder = new EditionFinder(before, ({ edition }) => edition);
  const missing: number[] = [];
  const releases = changed.map((entry, place) => {
    const same = finder.find(entry.edition, first + place);
    if (same === undefined) missing.push(place);
    return same && withMarks(same, entry);
  });
  if (!(await readInto(releases, missing, changed, read))) return undefined;
  const snapshot: ServingSnapshot = {
    ...head,
    releases: [
      ...before.slice(0, first),
      // Every position is filled by now.
      ...(releases as SnapshotRelease[]),
      ...before.slice(before.length - last),
    ],
  };
  const offered = knownIndex.offered - countOfferedEntries(instead) + countOfferedEntries(between);
  noteIndex(snapshot, { head: JSON.stringify(head), entries, offered });
  return snapshot;
}

/** Error of an index with a malformed entry. */
export class MalformedIndex extends Error {
  constructor() {
    super('An entry of the index is malformed');
    this.name = 'MalformedIndex';
  }
}

/** Error of a text that is not the release of its edition. */
export class MalformedRelease extends Error {
  readonly edition: string;

  constructor(edition: string) {
    super(`The text of release edition ${edition} is malformed`);
    this.name = 'MalformedRelease';
    this.edition = edition;
  }
}

/** Fills the missing positions; returns false if the store lacks a release. */
async function readInto(
  releases: (SnapshotRelease | undefined)[],
  missing: readonly number[],
  entries: readonly IndexEntry[],
  read: ReadReleases,
): Promise<boolean> {
  const slice = new TimeSlice();
  let size: number = BATCH.first;
  for (let from = 0; from < missing.length; ) {
    const batch = missing.slice(from, from + size).map((place) => ({
      place,
      entry: entries[place] as IndexEntry,
    }));
    const texts = await read(batch.map(({ entry }) => entry.edition));
    let length = 0;
    for (const [index, { place, entry }] of batch.entries()) {
      const text = texts[index];
      if (text === null || text === undefined) return false;
      releases[place] = releaseOf(text, entry);
      length += text.length;
      if (slice.isOver) await slice.pause();
    }
    from += batch.length;
    size = nextSize(batch.length, length);
  }
  return true;
}

/** Returns the release with the marks of its entry; the same object if it has them already. */
function withMarks(
  release: SnapshotRelease,
  { isOffered, isFollowed }: IndexEntry,
): SnapshotRelease {
  const isSame = release.offered === isOffered && release.followed === isFollowed;
  return isSame ? release : { ...release, offered: isOffered, followed: isFollowed };
}

function releaseOf(text: string, { edition, isOffered, isFollowed }: IndexEntry): SnapshotRelease {
  const release = parseReleaseText(text, edition);
  if (release === undefined) throw new MalformedRelease(edition);
  return { ...release, offered: isOffered, followed: isFollowed };
}

function nextSize(count: number, length: number): number {
  const fitting = Math.floor((BATCH_LENGTH * count) / Math.max(1, length));
  return Math.min(BATCH.max, Math.max(BATCH.min, fitting));
}

// Compares the entries of two indexes. Most entries at the beginning and the end are equal and are not
// parsed, so an index of thousands of releases takes as long as parsing a few entries.

const SPACE = 32;

/** Compares two texts of entries, which are separated by spaces. */
export function compareEntries(text: string, known: string) {
  const head = commonHead(text, known);
  const tail = commonTail(text, known, head.length);
  return {
    /** Number of equal entries at the beginning. */
    first: head.count,
    /** Number of further equal entries at the end. */
    last: tail.count,
    /** Entries between them, as `parseEntries` reads them. */
    between: partBetween(text, head, tail),
    /** Entries that the known index has in the place of `between`. */
    instead: partBetween(known, head, tail),
  };
}

function partBetween(text: string, head: CommonPart, tail: CommonPart): string {
  return text.slice(head.length, text.length - tail.length).trim();
}

/** Part of a text that is the same in another: its length, and the number of whole entries in it. */
type CommonPart = { readonly length: number; readonly count: number };

/** Returns the common beginning of both texts, up to and including the space after its last whole entry. */
function commonHead(text: string, known: string): CommonPart {
  const limit = Math.min(text.length, known.length);
  let length = 0;
  let count = 0;
  let place = 0;
  for (; place < limit; place++) {
    const code = text.charCodeAt(place);
    if (code !== known.charCodeAt(place)) return { length, count };
    if (code !== SPACE) continue;
    length = place + 1;
    count += 1;
  }
  // One text ends here; the last entry is whole if the other one ends too, or continues with a space.
  const isWhole = limit > 0 && endsAt(text, limit) && endsAt(known, limit);
  return isWhole
    ? { length: Math.min(limit + 1, text.length), count: count + 1 }
    : { length, count };
}

/** Returns the common end of both texts after the first `head` characters; it begins after a space. */
function commonTail(text: string, known: string, head: number): CommonPart {
  const limit = Math.min(text.length, known.length) - head;
  let length = 0;
  let count = 0;
  for (let back = 1; back <= limit; back++) {
    const code = text.charCodeAt(text.length - back);
    if (code !== known.charCodeAt(known.length - back)) return { length, count };
    if (code !== SPACE) continue;
    length = back - 1;
    count += 1;
  }
  const isWhole = limit > 0 && beginsAt(text, limit, head) && beginsAt(known, limit, head);
  return isWhole ? { length: limit, count: count + 1 } : { length, count };
}

function endsAt(text: string, place: number): boolean {
  return place === text.length || text.charCodeAt(place) === SPACE;
}

/** Whether an entry begins `back` characters before the end of the text, at `head` or after it. */
function beginsAt(text: string, back: number, head: number): boolean {
  const place = text.length - back;
  return place === head || text.charCodeAt(place - 1) === SPACE;
}
