// Snapshots in Redis: one hash per channel, with the snapshot's index and one field per release. A change
// sends and reads only the index and the changed releases.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { Unavailable } from '../../contract/store-fault.ts';
import { EditionFinder } from '../../domain/decision/artifact/edition-finder.ts';
import type { ServingSnapshot, SnapshotRelease } from '../../domain/decision/serving-snapshot.ts';
import { parseJson } from '../../domain/fleet/check-in-payload.ts';
import { TimeSlice } from '../../flow/time-slice.ts';
import type {
  Activity,
  Announcement,
  ChannelName,
  ChannelNameList,
  ChannelNameStore,
  Engine,
  SharedRecord,
  SnapshotHead,
} from '../engine.ts';
import { assembleSnapshot } from '../snapshot/assemble-snapshot.ts';
import { indexText, parseIndex, releaseText, writeIndex } from '../snapshot/snapshot-index.ts';
import { SCRIPTS } from './commands.ts';
import type { RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';

/** Maximum number of releases sent along with a snapshot because Redis cannot have them yet. */
const SENT_ALONG_MAX = 4;
/** Maximum number of channels whose stored snapshot this process remembers. */
const SEEN_MAX = 10_000;
/** Arguments of a snapshot without a base and without releases. */
const NO_BASE: readonly string[] = [''];
/**
 * Maximum number of attempts to store a snapshot whose releases Redis lacks, and to read one that changes.
 * Concurrent writers may remove each other's releases while no snapshot names them.
 */
const ATTEMPTS_MAX = 10;
/** Length of the texts in one write command; a longer release is written alone. */
const WRITE_LENGTH_MAX = 512 * 1024;

/** Stored snapshot as this process knows it. */
type Base = {
  /** Epoch, revision and number of offered releases, separated by spaces. */
  readonly order: string;
  readonly editions: readonly string[];
};

type PutReply =
  | readonly ['stored']
  | readonly ['kept', epoch: string, revision: string]
  | readonly ['missing', ...editions: string[]];

export function createRedisSnapshots(
  connection: RedisConnection,
  keys: Keys,
  onFault: (error: unknown) => void,
): Pick<Engine, 'putSnapshot' | 'getSnapshot' | 'getSnapshotHead'> {
  /** Complete snapshots in Redis as this process last wrote or read them, by key. */
  const lastSeen = new Map<string, Base>();

  function noteSeen(key: string, snapshot: ServingSnapshot): void {
    if (lastSeen.size >= SEEN_MAX) lastSeen.clear();
    lastSeen.set(key, baseOf(snapshot));
  }

  return {
    async getSnapshotHead(appRef, channel) {
      const key = keys.snapshot(appRef, channel);
      return parseHead(await connection.readFields(key, HEAD_FIELDS));
    },

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
          // A newer snapshot came meanwhile, and releases of this one were removed.
          if (snapshot === undefined) continue;
          noteSeen(key, snapshot);
          return snapshot;
        } catch (error) {
          if (error instanceof Unavailable) throw error;
          onFault(new Error('ignored a malformed snapshot', { cause: error }));
          return undefined;
        }
      }
      // Releases are lost: the next snapshot is compared with the fields in Redis.
      lastSeen.delete(key);
      return undefined;
    },
  };
}

/** Writes the texts of releases, several with each command. */
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
 * Returns the arguments with the snapshot's base and the releases added since; without a base when too many
 * were added, so that Redis names the missing ones.
 */
function additionsTo(base: Base | undefined, { releases }: ServingSnapshot): readonly string[] {
  if (base === undefined) return NO_BASE;
  const finder = new EditionFinder(base.editions, (edition) => edition);
  const added = releases.filter(({ edition }, place) => finder.find(edition, place) === undefined);
  if (added.length > SENT_ALONG_MAX) return NO_BASE;
  return [base.order, ...added.flatMap((release) => [release.edition, releaseText(release)])];
}

/**
 * Returns the arguments that send these releases together with the snapshot, so that no other writer can
 * remove them in between; undefined when they are too long for one command.
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

/** Fields of the hash that form the head, in the order of `parseHead`. */
const HEAD_FIELDS = ['channel', 'epoch', 'revision', 'offered'];

/** Parses the head fields; undefined when they are missing or malformed. */
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

// Names of all channels in Redis, for nodes that start while PostgreSQL is unreachable: one hash, rewritten
// as a whole when a channel is created.

export function createRedisChannelNames(
  connection: RedisConnection,
  keys: Keys,
  onFault: (error: unknown) => void,
): Omit<ChannelNameStore, 'readShared'> {
  return {
    async putChannelNames(list) {
      // Usually another node has stored this list already.
      if ((await connection.readField(keys.channelNames, 'tag')) === list.tag) return;
      const body = await pack(list);
      await connection.run(SCRIPTS.putChannelNames, keys.channelNames, list.tag, body);
    },

    async getChannelNames(heldTag) {
      const tag = await connection.readField(keys.channelNames, 'tag');
      if (tag === null || tag === heldTag) return undefined;
      const body = await connection.readField(keys.channelNames, 'body');
      if (body === null) return undefined;
      const list = unpack(body);
      if (list === undefined) onFault(new Error('ignored malformed names of channels'));
      return list;
    },
  };
}

/** Reads what a Redis says about its record, even while the node refuses it. */
export async function readShared(
  connection: Pick<RedisConnection, 'readField'>,
  keys: Keys,
  names: Pick<ChannelNameStore, 'getChannelNames'>,
  heldTag: string | undefined,
): Promise<SharedRecord> {
  const [record, tag, list] = await Promise.all([
    connection.readField(keys.record, 'name'),
    connection.readField(keys.channelNames, 'tag'),
    names.getChannelNames(heldTag),
  ]);
  return { record: record ?? undefined, tag: tag ?? undefined, list };
}

/** Number of names packed before other work may run: a few milliseconds. */
const NAMES_PER_TURN = 2000;

type PackedName = readonly [appId: string, appRef: string, channelId: string, channel: string];

/** Returns the body of a list: JSON of the tag, `isComplete`, and each channel's four names. */
async function pack({ tag, isComplete, channels }: ChannelNameList): Promise<string> {
  const parts: string[] = [];
  for (let start = 0; start < channels.length; start += NAMES_PER_TURN) {
    const names = channels
      .slice(start, start + NAMES_PER_TURN)
      .map(({ appId, appRef, channelId, channel }) => [appId, appRef, channelId, channel]);
    parts.push(JSON.stringify(names).slice(1, -1));
    // Lets other work of the process run.
    await nextTurn();
  }
  return `[${JSON.stringify(tag)},${isComplete},[${parts.join()}]]`;
}

/** Returns the list; undefined for a malformed body. */
function unpack(body: string): ChannelNameList | undefined {
  const packed = parseJson(body);
  if (!Array.isArray(packed)) return undefined;
  const [tag, isComplete, names]: unknown[] = packed;
  if (typeof tag !== 'string' || typeof isComplete !== 'boolean' || !Array.isArray(names)) {
    return undefined;
  }
  const channels: ChannelName[] = [];
  for (const name of names) {
    if (!isPackedName(name)) return undefined;
    const [appId, appRef, channelId, channel] = name;
    channels.push({ appId, appRef, channelId, channel });
  }
  return { tag, isComplete, channels };
}

function isPackedName(value: unknown): value is PackedName {
  return (
    Array.isArray(value) && value.length === 4 && value.every((text) => typeof text === 'string')
  );
}

// Parsers of JSON from Redis. Another version or another program may have written it, so malformed data is
// rejected here.

/** Parses an announcement; undefined when malformed. Older nodes leave out the epoch, which is then 0. */
export function parseAnnouncementPayload(message: string): Announcement | undefined {
  const value: Partial<Announcement> = { epoch: 0, ...parseObject<Announcement>(message) };
  const isAnnouncement =
    typeof value.appRef === 'string' &&
    typeof value.channel === 'string' &&
    typeof value.channelId === 'string' &&
    Number.isSafeInteger(value.epoch) &&
    Number.isSafeInteger(value.revision) &&
    ['string', 'undefined'].includes(typeof value.offeredReleaseId);
  return isAnnouncement ? (value as Announcement) : undefined;
}

/** Parses a JSON object whose fields the caller checks; returns an empty object for anything else. */
function parseObject<Shape>(text: string): Partial<Shape> {
  const value = parseJson(text);
  return typeof value === 'object' && value !== null ? value : {};
}

/** Parses shared activity; leaves out malformed entries. */
export function parseActivityPayload(message: string): readonly Activity[] {
  const value = parseJson(message);
  if (!Array.isArray(value)) return [];
  return (value as Partial<Activity>[]).filter(
    (each): each is Activity =>
      typeof each?.appId === 'string' && Number.isFinite(each.count) && Array.isArray(each.samples),
  );
}
