// The actions of devices in Redis: a text in the hash of each device. `ActionStore` states the obligations.
//
// A Redis that restarted or failed over may have lost the latest changes. Every process has a new session
// then: it confirms what is held from before by the ledger, which has every closing. An entry has the time at
// which it was put or changed.

import type { ActionStore, HeldActions } from '../action-store.ts';
import { SCRIPTS } from './commands.ts';
import type { RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';
import { moveArguments, UNCONFIRMED_MS } from './redis-labels.ts';

/**
 * Shortest life of an entry after its last change or confirmation. It ends with the hash, whose time to live
 * must not confirm labels.
 */
const LIFETIME_MS = UNCONFIRMED_MS;
/** Age below which an entry is confirmed, as far as this session put it. */
const CONFIRMED_MS = LIFETIME_MS / 2;
/** Milliseconds by which an entry may be older than it seems: Redis reports whole milliseconds. */
const AGE_ERROR_MS = 2;

const HELD = /^\d+ (\d+) (.*)$/s;

export function createRedisActions(
  connection: Pick<RedisConnection, 'session' | 'run' | 'runEach' | 'runAll'>,
  keys: Keys,
  onFault: (error: unknown) => void,
): ActionStore {
  let session: object | undefined;
  /** Time by `performance.now` before which no entry is confirmed. */
  let sessionFrom = Number.NEGATIVE_INFINITY;

  /** Returns the age in milliseconds below which an entry is confirmed now. */
  function confirmedAge(): number {
    if (connection.session !== session) {
      // The first session of a process confirms nothing either: it may begin after a loss.
      session = connection.session;
      sessionFrom = performance.now();
    }
    return Math.min(CONFIRMED_MS, performance.now() - sessionFrom - AGE_ERROR_MS);
  }

  async function asked<Answer>(answer: Promise<Answer>): Promise<Answer> {
    try {
      return await answer;
    } catch (error) {
      session = undefined;
      throw error;
    }
  }

  return {
    async getActions(devices) {
      const calls = devices.map((device) => ({ key: keys.device(device), args: [] }));
      const replies = await asked(connection.runEach(SCRIPTS.getActions, calls));
      const confirmedMs = confirmedAge();
      return devices.map((_, index) => heldOf(replies[index], confirmedMs, onFault));
    },

    async putActions(stored) {
      const calls = stored.map(({ revision, text, ...device }) => {
        return { key: keys.device(device), args: [`${revision} 0 ${text}`, String(LIFETIME_MS)] };
      });
      await asked(connection.runAll(SCRIPTS.putActions, calls));
    },

    async changeActions(changes) {
      const calls = changes.map(({ revision, text, expected, unstoredSince, ...device }) => {
        const value = `${revision} ${Math.trunc(unstoredSince)} ${text}`;
        return { key: keys.device(device), args: [String(expected), value, String(LIFETIME_MS)] };
      });
      const replies = await asked(connection.runEach(SCRIPTS.changeActions, calls));
      return replies.map((reply) => reply === 1);
    },

    async noteStored(stored) {
      const calls = stored.map(({ revision, ...device }) => {
        return { key: keys.device(device), args: [String(revision)] };
      });
      await asked(connection.runAll(SCRIPTS.noteStoredActions, calls));
    },

    async dropActions(devices) {
      const calls = devices.map((device) => ({ key: keys.device(device), args: [] }));
      await connection.runAll(SCRIPTS.dropActions, calls);
    },

    async readActionPosition() {
      const reply = await connection.run(SCRIPTS.readPosition, keys.actionPosition);
      if (!Array.isArray(reply)) return undefined;
      const [epoch, position] = reply.map(Number) as [number, number];
      return { epoch, position };
    },

    async moveActionPosition(from, to) {
      const args = moveArguments(from, to, false);
      return (await connection.run(SCRIPTS.movePosition, keys.actionPosition, ...args)) === 1;
    },
  };
}

function heldOf(
  reply: unknown,
  confirmedMs: number,
  onFault: (error: unknown) => void,
): HeldActions | undefined {
  if (!Array.isArray(reply)) return undefined;
  const [ageMs, held] = reply as [number, string];
  const [, unstoredSince, text] = HELD.exec(held) ?? [];
  if (text === undefined) {
    onFault(new Error('ignored malformed actions of a device'));
    return undefined;
  }
  return { text, isConfirmed: ageMs < confirmedMs, unstoredSince: Number(unstoredSince) };
}
