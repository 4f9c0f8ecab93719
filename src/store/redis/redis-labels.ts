// The label cache in Redis: one key per device, and one for the position in the ledger's changes.
// `LabelCache` states the obligations.
//
// How long ago an entry was put follows from the time that it has left: nothing but a put gives it more than
// `UNCONFIRMED_MS`.

import type { CachedLabels, LabelCache, LabelPosition } from '../label-store.ts';
import type { RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';
import { packLabelPayload, parseLabelPayload } from './label-payload.ts';
import { SCRIPTS } from './script.ts';

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
