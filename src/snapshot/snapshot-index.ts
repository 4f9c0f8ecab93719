// Index of a snapshot: the channel's own state, and the edition of each release that it has. Whoever has the
// releases of another index reads only those that are new, so that a change costs what changed, however many
// releases a channel has and however long their notes are.

import { UPDATE_MODES } from '../contract/resource.ts';
import { compareServing } from '../domain/decision/serving-order.ts';
import type { ServingSnapshot } from '../domain/decision/serving-snapshot.ts';
import { areTexts, isCount, isObject, isOneOf, parseJson } from './parse-json.ts';

export type SnapshotIndex = {
  readonly head: SnapshotHead;
  /** Entries of all releases, in the order that they have in the snapshot. */
  readonly entries: readonly IndexEntry[];
};

/** Snapshot without its releases. */
type SnapshotHead = Omit<ServingSnapshot, 'releases'>;

/** Release of an index. */
export type IndexEntry = {
  readonly edition: string;
  /** Whether the release was offered, which is no part of its edition. */
  readonly isOffered: boolean;
};

const EDITION = /^\w[\w.-]{0,63}$/;
const SEPARATOR = ' ';
const OFFERED = '*';

/**
 * Writes the index of a snapshot: a line of JSON with the head, then the entries as `parseEntries` reads
 * them.
 */
export function writeIndex({ releases, ...head }: ServingSnapshot): string {
  const entries = releases.map(({ edition, offered }) => (offered ? edition + OFFERED : edition));
  return `${JSON.stringify(head)}\n${entries.join(SEPARATOR)}`;
}

/** Parses what `writeIndex` wrote; undefined when the text is anything else. */
export function parseIndex(text: string): SnapshotIndex | undefined {
  const end = text.indexOf('\n');
  if (end === -1) return undefined;
  const head = parseJson(text.slice(0, end));
  const entries = parseEntries(text.slice(end + 1));
  return isHead(head) && entries !== undefined ? { head, entries } : undefined;
}

/**
 * Parses entries that are separated by spaces, with a `*` after the edition of a release that was offered;
 * undefined when one of them is no edition.
 */
export function parseEntries(text: string): readonly IndexEntry[] | undefined {
  if (text === '') return [];
  const entries = text.split(SEPARATOR).map((entry) => {
    const isOffered = entry.endsWith(OFFERED);
    return { edition: isOffered ? entry.slice(0, -OFFERED.length) : entry, isOffered };
  });
  return entries.every(({ edition }) => EDITION.test(edition)) ? entries : undefined;
}

/** Compares the indexes of two copies of one channel, as `compareSnapshots` compares the snapshots. */
export function compareIndexes(a: SnapshotIndex, b: SnapshotIndex): number {
  return compareServing(a.head, b.head) || countOffered(a) - countOffered(b);
}

function countOffered({ entries }: SnapshotIndex): number {
  return entries.filter(({ isOffered }) => isOffered).length;
}

function isHead(value: unknown): value is SnapshotHead {
  if (!isObject<SnapshotHead>(value)) return false;
  return (
    areTexts(value.appId, value.appRef, value.channelId, value.channel) &&
    isCount(value.epoch) &&
    isCount(value.revision) &&
    isOneOf(UPDATE_MODES, value.updateMode) &&
    (value.minimumSupportedVersion === null || typeof value.minimumSupportedVersion === 'string')
  );
}
