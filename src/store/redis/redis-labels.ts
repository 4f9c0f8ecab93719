// The label cache in Redis: one key per device, and one for the position in the ledger's changes.
// `LabelCache` states the obligations.
//
// How long ago an entry was put follows from the time that it has left: nothing but a put gives it more than
// `UNCONFIRMED_MS`.

import type { Labels } from '../../domain/decision/targeting.ts';
import { isLabelPairs, parseJson } from '../../domain/fleet/check-in-payload.ts';
import type {
  CachedLabels,
  LabelCache,
  LabelNoteStore,
  LabelNotification,
  LabelPosition,
  StoredLabels,
} from '../label-store.ts';
import { SCRIPTS } from './commands.ts';
import type { RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';

const HOUR_MS = 3_600_000;
/** Longest life of an entry that nobody asks for. */
const LIFETIME_MS = 7 * 24 * HOUR_MS;
/** Age below which an entry is confirmed; some are a little earlier in need of it. */
const CONFIRMED_MS = HOUR_MS;
/**
 * Part of that age by which entries differ, so that those which were put at the same time do not ask the
 * ledger at the same time.
 */
const CONFIRMED_SPREAD_MS = HOUR_MS / 6;
/** Life that the use of an entry gives it: the most that an entry which is not confirmed can have. */
const UNCONFIRMED_MS = LIFETIME_MS - CONFIRMED_MS;

type RedisLabels = Pick<
  LabelCache,
  'getLabels' | 'putLabels' | 'dropLabels' | 'readLabelPosition' | 'moveLabelPosition'
>;

export function createRedisLabels(
  connection: RedisConnection,
  keys: Keys,
  onFault: (error: unknown) => void,
): RedisLabels {
  /** Time of this process's stopwatch before which no entry is confirmed. */
  let doubtedAt = Number.NEGATIVE_INFINITY;

  /** Returns the age in milliseconds below which an entry may be confirmed now. */
  function confirmedAge(): number {
    return Math.min(CONFIRMED_MS, performance.now() - doubtedAt);
  }

  function isConfirmed(leftMs: number, confirmedMs: number): boolean {
    const ageMs = LIFETIME_MS - leftMs;
    return ageMs < confirmedMs && ageMs < CONFIRMED_MS - Math.random() * CONFIRMED_SPREAD_MS;
  }

  return {
    async getLabels(devices) {
      const calls = devices.map((device) => ({
        key: keys.labels(device),
        args: [String(UNCONFIRMED_MS)],
      }));
      const confirmedMs = confirmedAge();
      const replies = await connection.runEach(SCRIPTS.getLabels, calls);
      return devices.map(({ appId, deviceId }, index): CachedLabels | undefined => {
        const reply = replies[index] as [payload: string, leftMs: number] | null | undefined;
        if (reply === null || reply === undefined) return undefined;
        const [payload, leftMs] = reply;
        const found = parseLabelPayload(payload);
        if (found === undefined) onFault(new Error('ignored malformed labels'));
        return (
          found && { appId, deviceId, ...found, isConfirmed: isConfirmed(leftMs, confirmedMs) }
        );
      });
    },

    async putLabels(entries) {
      const confirmedLeft = String(Math.floor(LIFETIME_MS - confirmedAge()));
      const calls = entries.map((entry) => ({
        key: keys.labels(entry),
        args: [packLabelPayload(entry), String(LIFETIME_MS), confirmedLeft],
      }));
      await connection.runAll(SCRIPTS.putLabels, calls);
    },

    async dropLabels(devices) {
      const calls = devices.map((device) => ({ key: keys.labels(device), args: [] }));
      await connection.runAll(SCRIPTS.dropLabels, calls);
    },

    async readLabelPosition() {
      const reply = await connection.run(SCRIPTS.readLabelPosition, keys.labelPosition);
      if (!Array.isArray(reply)) return undefined;
      const [epoch, position, doubtedMs] = reply.map(Number) as [number, number, number];
      if (doubtedMs >= 0) doubtedAt = Math.max(doubtedAt, performance.now() - doubtedMs);
      return { epoch, position };
    },

    async moveLabelPosition(from, to, doubt) {
      const args = [...numbersOf(from), ...numbersOf(to), doubt ? '1' : '0'];
      const key = keys.labelPosition;
      const isMoved = (await connection.run(SCRIPTS.moveLabelPosition, key, ...args)) === 1;
      if (isMoved && doubt) doubtedAt = performance.now();
      return isMoved;
    },
  };
}

function numbersOf(position: LabelPosition | undefined): [epoch: string, position: string] {
  return position === undefined ? ['', ''] : [String(position.epoch), String(position.position)];
}

// Notes of labels that are not on record yet, in Redis: one hash per device. `LabelNoteStore` states the
// obligations.

export function createRedisLabelNotes(connection: RedisConnection, keys: Keys): LabelNoteStore {
  return {
    async noteLabels(notes) {
      const calls = notes.map(({ appId, deviceId, labels, at }) => {
        const args = [String(Math.trunc(at)), String(labels.size)];
        for (const [key, value] of labels) args.push(key, value);
        return { key: keys.labelNotes({ appId, deviceId }), args };
      });
      await connection.runAll(SCRIPTS.noteLabels, calls);
    },

    async readLabelNotes(devices) {
      const calls = devices.map((device) => ({ key: keys.labelNotes(device), args: [] }));
      const replies = await connection.runEach(SCRIPTS.readLabelNotes, calls);
      return devices.map((_, index) => parseNotes(replies[index]));
    },

    async settleLabelNotes(settled) {
      const calls = settled.map(({ appId, deviceId, labelKeys, until }) => ({
        key: keys.labelNotes({ appId, deviceId }),
        args: [String(Math.trunc(until)), String(labelKeys.length), ...labelKeys],
      }));
      await connection.runAll(SCRIPTS.settleLabelNotes, calls);
    },

    async dropLabelNotes(devices) {
      const calls = devices.map((device) => ({ key: keys.labelNotes(device), args: [] }));
      await connection.runAll(SCRIPTS.dropLabels, calls);
    },
  };
}

/** Returns the labels of a hash in key order, or undefined when it has none. */
function parseNotes(reply: unknown): Labels | undefined {
  if (!Array.isArray(reply) || reply.length === 0) return undefined;
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < reply.length; at += 2) {
    const value = String(reply[at + 1]);
    pairs.push([String(reply[at]), value.slice(value.indexOf(' ') + 1)]);
  }
  return new Map(pairs.sort(([left], [right]) => (left < right ? -1 : 1)));
}

// Serialisation of the labels of one device: `<revision> <pairs as JSON>`. The revision comes first, so that
// a Lua script can read it without parsing the rest. Labels are pairs rather than an object, because a label
// may be named `__proto__`.

function packLabelPayload({ labels, revision }: StoredLabels): string {
  return `${revision} ${JSON.stringify([...labels])}`;
}

/** Parses labels and revision; returns undefined when the text is not such a payload. */
function parseLabelPayload(
  payload: string,
): { readonly labels: Labels; readonly revision: number } | undefined {
  const [, digits] = /^(\d{1,15}) /.exec(payload) ?? [];
  if (digits === undefined) return undefined;
  const pairs = parseJson(payload.slice(digits.length + 1));
  return isLabelPairs(pairs) ? { labels: new Map(pairs), revision: Number(digits) } : undefined;
}

/** Serialises the announcement of changed labels: `[[appId, deviceId, revision], …]`. */
export function packLabelNotifications(notifications: readonly LabelNotification[]): string {
  return JSON.stringify(
    notifications.map(({ appId, deviceId, revision }) => [appId, deviceId, revision]),
  );
}

/** Parses an announcement of changed labels; malformed entries are left out. */
export function parseLabelNotifications(message: string): readonly LabelNotification[] {
  const value = parseJson(message);
  if (!Array.isArray(value)) return [];
  return value.filter(isNotificationEntry).map(([appId, deviceId, revision]) => {
    return { appId, deviceId, revision };
  });
}

function isNotificationEntry(entry: unknown): entry is [string, string, number] {
  return (
    Array.isArray(entry) &&
    typeof entry[0] === 'string' &&
    typeof entry[1] === 'string' &&
    Number.isSafeInteger(entry[2])
  );
}
