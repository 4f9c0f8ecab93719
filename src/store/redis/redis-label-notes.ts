// Notes of labels that are not on record yet, in Redis: one hash per device. `LabelNoteStore` states the
// obligations.

import type { Labels } from '../../domain/decision/targeting.ts';
import type { LabelNoteStore } from '../label-notes.ts';
import type { RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';
import { SCRIPTS } from './script.ts';

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
