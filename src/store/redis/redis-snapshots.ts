// Snapshots in Redis: one hash for each channel, with the index of the snapshot and a field for each release.
// A change sends and reads the index and the releases that changed. `Engine` states the obligations.

import { Unavailable } from '../../contract/unavailable.ts';
import { EditionFinder } from '../../domain/decision/edition-finder.ts';
import type { ServingSnapshot, SnapshotRelease } from '../../domain/decision/serving-snapshot.ts';
import { TimeSlice } from '../../flow/time-slice.ts';
import type { Engine, SnapshotHead } from '../engine.ts';
import { assembleSnapshot } from '../snapshot/assemble-snapshot.ts';
import { releaseText } from '../snapshot/release-text.ts';
import { indexText, parseIndex, writeIndex } from '../snapshot/snapshot-index.ts';
import type { RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';
import { SCRIPTS } from './script.ts';

/** Maximum number of releases that are sent with a snapshot because Redis cannot have them yet. */
const SENT_ALONG_MAX = 4;
/** Maximum number of channels whose snapshots in Redis this process remembers. */
const SEEN_MAX = 10_000;
/** Arguments of a snapshot that was made from no known one and brings no releases. */
const NO_BASE: readonly string[] = [''];
/**
 * Maximum number of attempts to store a snapshot whose releases Redis lacks, and to read one that changes.
 * Many writers at once may remove each other's releases, which no snapshot names yet.
 */
const ATTEMPTS_MAX = 10;
/** Length of the texts that are written with one command; a single longer one is written alone. */
const WRITE_LENGTH_MAX = 512 * 1024;

/** What is known of a stored snapshot. */
type Base = {
  /** Epoch, revision and number of offered releases, with spaces between them. */
  readonly order: string;
  readonly editions: readonly string[];
};

/** Reply of `put-snapshot.lua`. */
type PutReply =
  | readonly ['stored']
  | readonly ['kept', epoch: string, revision: string]
  | readonly ['missing', ...editions: string[]];

export function createRedisSnapshots(
  connection: RedisConnection,
  keys: Keys,
  onFault: (error: unknown) => void,
): Pick<Engine, 'putSnapshot' | 'getSnapshot' | 'getSnapshotHead'> {
  /** Snapshots that Redis had, whole, when this process last wrote or read them, by key. */
  const lastSeen = new Map<string, Base>();

  function noteSeen(key: string, snapshot: ServingSnapshot): void {
    if (lastSeen.size >= SEEN_MAX) lastSeen.clear();
    lastSeen.set(key, baseOf(snapshot));
  }

  return {
    getSnapshotHead: (appRef, channel) => readHead(connection, keys.snapshot(appRef, channel)),

    async putSnapshot(snapshot) {
      const { channelId, epoch, revision, releases } = snapshot;
      const index = writeIndex(snapshot);
      const key = keys.snapshot(snapshot.appRef, snapshot.channel);
      const order = [epoch, revision, index.offered].map(String);
      const args = [channelId, ...order, indexText(index), String(releases.length)];
      let more: readonly string[] | undefined = additionsTo(lastSeen.get(key), snapshot);
      for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts++) {
        const reply = await connection.run(SCRIPTS.putSnapshot, key, ...args, ...more);
        const [outcome, ...rest] = reply as PutReply;
        if (outcome === 'kept') return { epoch: Number(rest[0]), revision: Number(rest[1]) };
        if (outcome === 'stored') {
          noteSeen(key, snapshot);
          return undefined;
        }
        const editions = new Set<string>(rest);
        const missing = releases.filter(({ edition }) => editions.has(edition));
        more = attempts === 0 ? undefined : broughtAlong(missing);
        if (more === undefined) await write(connection, key, missing);
        more ??= NO_BASE;
      }
      throw new Unavailable(
        'engine',
        'releases of a snapshot are gone as soon as they are written',
      );
    },

    async getSnapshot(appRef, channel, known) {
      const key = keys.snapshot(appRef, channel);
      for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts++) {
        const text = await connection.readField(key, 'index');
        if (text === null) return undefined;
        try {
          const index = parseIndex(text);
          if (index === undefined) throw new Error('its index is malformed');
          const snapshot = await assembleSnapshot(index, known, (editions) =>
            connection.readFields(key, editions.map(fieldOf)),
          );
          // Undefined when a newer snapshot came meanwhile, and releases of this one went.
          if (snapshot === undefined) continue;
          noteSeen(key, snapshot);
          return snapshot;
        } catch (error) {
          if (error instanceof Unavailable) throw error;
          onFault(new Error('ignored a malformed snapshot', { cause: error }));
          return undefined;
        }
      }
      // Releases are lost: the next snapshot is compared with what is there.
      lastSeen.delete(key);
      return undefined;
    },
  };
}

/** Writes the texts of releases, some with each command. */
async function write(
  connection: RedisConnection,
  key: string,
  releases: readonly SnapshotRelease[],
): Promise<void> {
  const slice = new TimeSlice();
  let fields: string[] = [];
  let length = 0;
  for (const [index, release] of releases.entries()) {
    const text = releaseText(release);
    fields.push(fieldOf(release.edition), text);
    length += text.length;
    const isLast = index === releases.length - 1;
    if (isLast || length >= WRITE_LENGTH_MAX) {
      await connection.writeFields(key, fields);
      fields = [];
      length = 0;
    }
    if (slice.isOver) await slice.pause();
  }
}

function baseOf(snapshot: ServingSnapshot): Base {
  const { epoch, revision, releases } = snapshot;
  const order = [epoch, revision, writeIndex(snapshot).offered].join(' ');
  return { order, editions: releases.map(({ edition }) => edition) };
}

/**
 * Returns the arguments that name the snapshot from which this one was made, and bring the releases that it
 * adds. When they are many, Redis is asked for the missing ones instead.
 */
function additionsTo(base: Base | undefined, { releases }: ServingSnapshot): readonly string[] {
  if (base === undefined) return NO_BASE;
  const finder = new EditionFinder(base.editions, (edition) => edition);
  const added = releases.filter(({ edition }, place) => finder.find(edition, place) === undefined);
  if (added.length > SENT_ALONG_MAX) return NO_BASE;
  return [base.order, ...added.flatMap((release) => [release.edition, releaseText(release)])];
}

/**
 * Returns the arguments that bring these releases with the snapshot, so that no other writer can remove them
 * in between; undefined when they are too long for one command.
 */
function broughtAlong(releases: readonly SnapshotRelease[]): readonly string[] | undefined {
  const texts = [...NO_BASE];
  let length = 0;
  for (const release of releases) {
    const text = releaseText(release);
    length += text.length;
    if (length > WRITE_LENGTH_MAX) return undefined;
    texts.push(release.edition, text);
  }
  return texts;
}

/** Fields of the hash that tell what the snapshot is, in the order of `parseHead`. */
const HEAD_FIELDS = ['channel', 'epoch', 'revision', 'offered'];

async function readHead(connection: RedisConnection, key: string) {
  return parseHead(await connection.readFields(key, HEAD_FIELDS));
}

/** Parses the fields that tell what a snapshot is; undefined when there is none, or they are malformed. */
function parseHead(fields: readonly (string | null)[]): SnapshotHead | undefined {
  const [channelId, ...texts] = fields;
  const [epoch = -1, revision = -1, offered = -1] = texts.map((text) => Number(text ?? -1));
  const counts = [epoch, revision, offered];
  const areCounts = counts.every((count) => Number.isSafeInteger(count) && count >= 0);
  if (typeof channelId !== 'string' || !areCounts) return undefined;
  return { channelId, epoch, revision, offered };
}

function fieldOf(edition: string): string {
  return `release:${edition}`;
}
