// The label cache in Redis: labels on record and notes in the hash of each device, and a hash for the
// position in the ledger's changes. `LabelCache` states the obligations.
//
// The age of an entry follows from the hash's remaining time to live: only storing an entry sets that to more
// than `UNCONFIRMED_MS`.

import { parseJson } from '../../domain/fleet/check-in-payload.ts';
import {
  entriesOf,
  isLabelEntries,
  type LabelEntry,
  latestTimes,
  timedOf,
} from '../../domain/fleet/labels.ts';
import {
  type CachedLabels,
  type ChangePosition,
  type DeviceName,
  type LabelCache,
  type LabelNote,
  type LabelNotification,
  notedNotification,
  type StoredLabels,
} from '../label-store.ts';
import { SCRIPTS } from './commands.ts';
import type { PackedCalls, RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';

const HOUR_MS = 3_600_000;
/** Longest life of an entry that nobody asks for. */
const LIFETIME_MS = 7 * 24 * HOUR_MS;
/** Age below which an entry is confirmed; each read subtracts a random part of `CONFIRMED_SPREAD_MS`. */
const CONFIRMED_MS = HOUR_MS;
/**
 * Greatest random part of that age, so that entries which were stored at the same time do not all ask the
 * ledger at the same time.
 */
const CONFIRMED_SPREAD_MS = HOUR_MS / 6;
/**
 * Milliseconds by which an entry may be older than it seems, compared with the time of a doubt, because Redis
 * reports both ages in whole milliseconds. Entries stored in the millisecond of the doubt are unconfirmed.
 */
const AGE_ERROR_MS = 2;
/** Time to live that other use gives the hash: the longest that an unconfirmed entry can have. */
export const UNCONFIRMED_MS = LIFETIME_MS - CONFIRMED_MS;

type RedisLabels = Omit<LabelCache, 'tellLabels' | 'onLabels'>;

export function createRedisLabels(
  connection: RedisConnection,
  keys: Keys,
  onFault: (error: unknown) => void,
): RedisLabels {
  /** Time by `performance.now` before which no entry is confirmed. */
  let doubtedAt = Number.NEGATIVE_INFINITY;

  /** Returns the age in milliseconds below which an entry may be confirmed now. */
  function confirmedAge(): number {
    return Math.min(CONFIRMED_MS, performance.now() - doubtedAt - AGE_ERROR_MS);
  }

  function isConfirmed(leftMs: number, confirmedMs: number): boolean {
    const ageMs = LIFETIME_MS - leftMs;
    return ageMs < confirmedMs && ageMs < CONFIRMED_MS - Math.random() * CONFIRMED_SPREAD_MS;
  }

  return {
    keepsNotes: true,

    async getLabels(devices) {
      const calls = devices.map((device) => ({
        key: keys.device(device),
        args: [String(UNCONFIRMED_MS)],
      }));
      const confirmedMs = confirmedAge();
      const replies = await connection.runEach(SCRIPTS.getLabels, calls);
      return devices.map((device, index): CachedLabels => {
        const { leftMs, stored, notes } = parseHash(device, replies[index], onFault);
        return {
          stored,
          isConfirmed: stored !== undefined && isConfirmed(leftMs, confirmedMs),
          notes,
        };
      });
    },

    async putLabels(entries) {
      const confirmedLeft = String(Math.floor(LIFETIME_MS - confirmedAge()));
      const calls = entries.map((entry) => {
        const settled = [...latestTimes(entry.times, entry.settled)];
        const args = [
          packStored(entry),
          String(LIFETIME_MS),
          confirmedLeft,
          String(settled.length),
        ];
        for (const [key, until] of settled) args.push(key, String(Math.trunc(until)));
        return { key: keys.device(entry), args };
      });
      await connection.runAll(SCRIPTS.putLabels, calls);
    },

    async noteLabels(notes) {
      await connection.runPacked(SCRIPTS.noteLabels, callsOf(notes, keys));
    },

    async dropLabels(devices) {
      const calls = devices.map((device) => ({ key: keys.device(device), args: [] }));
      await connection.runAll(SCRIPTS.dropLabels, calls);
    },

    async readLabelPosition() {
      const reply = await connection.run(SCRIPTS.readPosition, keys.labelPosition);
      if (!Array.isArray(reply)) return undefined;
      const [epoch, position, doubtedMs] = reply.map(Number) as [number, number, number];
      if (doubtedMs >= 0) doubtedAt = Math.max(doubtedAt, performance.now() - doubtedMs);
      return { epoch, position };
    },

    async moveLabelPosition(from, to, doubt) {
      const args = moveArguments(from, to, doubt);
      const isMoved =
        (await connection.run(SCRIPTS.movePosition, keys.labelPosition, ...args)) === 1;
      if (isMoved && doubt) doubtedAt = performance.now();
      return isMoved;
    },
  };
}

/** Returns the keys and the arguments of note-labels.lua. */
function callsOf(notes: readonly LabelNote[], keys: Keys): PackedCalls {
  return {
    keys: notes.map(keys.device),
    argsOf(from, to) {
      const told = notes.slice(from, to).map(notedNotification);
      return [keys.labelNotifications, packLabelNotifications(told)];
    },
    write(index, packed) {
      const { at, labels } = notes[index] as LabelNote;
      packed.putNumber(Math.trunc(at));
      packed.putCount(labels.size);
      for (const [key, value] of labels) {
        packed.putText(key);
        packed.putText(value);
      }
    },
  };
}

/** Returns the arguments of move-label-position.lua. */
export function moveArguments(
  from: ChangePosition | undefined,
  to: ChangePosition,
  doubt: boolean,
): readonly string[] {
  return [...numbersOf(from), ...numbersOf(to), doubt ? '1' : '0'];
}

function numbersOf(position: ChangePosition | undefined): [epoch: string, position: string] {
  return position === undefined ? ['', ''] : [String(position.epoch), String(position.position)];
}

/** A note: when it was sent, when it ends by the clock of Redis, and the value. */
const NOTE = /^(\d+) \d+ (.*)$/s;

type ParsedHash = Pick<CachedLabels, 'stored' | 'notes'> & { readonly leftMs: number };

/** Parses a reply of `getLabels`: milliseconds left to live, labels on record, and keys with their notes. */
function parseHash(
  device: DeviceName,
  reply: unknown,
  onFault: (error: unknown) => void,
): ParsedHash {
  const [leftMs, held, ...fields] = (reply ?? [0, null]) as [number, string | null, ...string[]];
  const stored = held === null ? undefined : parseStored(device, held);
  if (held !== null && stored === undefined) onFault(new Error('ignored malformed labels'));
  const notes: LabelEntry[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [, sentAt, text] = NOTE.exec(String(fields[at + 1])) ?? [];
    if (text !== undefined) notes.push([String(fields[at]), text, Number(sentAt)]);
  }
  return { leftMs, stored, notes: notes.length === 0 ? undefined : timedOf(notes) };
}

// Serialisation of the labels that the ledger has of one device: `<revision>;`, then key, value and time of
// each label, with NUL between them, which the ledger keeps out of texts. The time is in milliseconds since
// 1970, to base 36, and empty where it is that of the label before. The revision comes first, so that a Lua
// script can read it without parsing the rest.

const HEAD = /^(\d{1,15})([; ])/;
const SEPARATOR = '\0';
const RADIX = 36;
const TIME = /^[\da-z]{1,11}$/;
const WIDTH = 3;

function packStored(stored: StoredLabels): string {
  let before: string | undefined;
  const fields = entriesOf(stored).flatMap(([key, value, at]) => {
    const time = Math.trunc(at).toString(RADIX);
    const told = time === before ? '' : time;
    before = time;
    return [key, value, told];
  });
  return `${stored.revision};${fields.join(SEPARATOR)}`;
}

/** Parses labels and revision; returns undefined when the text is not such a payload. */
function parseStored({ appId, deviceId }: DeviceName, text: string): StoredLabels | undefined {
  const [head, digits, form] = HEAD.exec(text) ?? [];
  if (head === undefined) return undefined;
  const packed = text.slice(head.length);
  // Nodes of 0.3.0 write JSON.
  const entries = form === ' ' ? parseJson(packed) : parseEntries(packed);
  if (!isLabelEntries(entries)) return undefined;
  return { appId, deviceId, ...timedOf(entries), revision: Number(digits) };
}

function parseEntries(packed: string): LabelEntry[] | undefined {
  if (packed === '') return [];
  const fields = packed.split(SEPARATOR);
  if (fields.length % WIDTH !== 0) return undefined;
  const entries: LabelEntry[] = [];
  let sentAt = Number.NaN;
  for (let at = 0; at < fields.length; at += WIDTH) {
    const [key = '', value = '', time = ''] = fields.slice(at, at + WIDTH);
    if (time !== '') sentAt = TIME.test(time) ? Number.parseInt(time, RADIX) : Number.NaN;
    if (Number.isNaN(sentAt)) return undefined;
    entries.push([key, value, sentAt]);
  }
  return entries;
}

/** Serialises the announcement of changed labels: `[[appId, deviceId, revision, labelsTag], …]`. */
export function packLabelNotifications(notifications: readonly LabelNotification[]): string {
  return JSON.stringify(notifications.map(fieldsOf));
}

function fieldsOf({ appId, deviceId, revision, labelsTag }: LabelNotification): readonly unknown[] {
  return [appId, deviceId, revision, ...(labelsTag === undefined ? [] : [labelsTag])];
}

/** Parses an announcement of changed labels; malformed entries are left out. */
export function parseLabelNotifications(message: string): readonly LabelNotification[] {
  const value = parseJson(message);
  if (!Array.isArray(value)) return [];
  return value.filter(isNotificationEntry).map(([appId, deviceId, revision, labelsTag]) => {
    return { appId, deviceId, revision, labelsTag };
  });
}

function isNotificationEntry(entry: unknown): entry is [string, string, number, number?] {
  return (
    Array.isArray(entry) &&
    typeof entry[0] === 'string' &&
    typeof entry[1] === 'string' &&
    Number.isSafeInteger(entry[2]) &&
    // A node of an earlier version leaves the tag out.
    (entry[3] === undefined || Number.isSafeInteger(entry[3]))
  );
}
