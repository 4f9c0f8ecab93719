// The actions of devices in Redis: one text per device. `ActionStore` states the obligations.
//
// A Redis that restarted or failed over may have lost the latest changes. Every process has a new session
// then: it confirms what is held from before by the ledger, which has every closing. How old an entry is
// follows from its remaining time to live, which only putting or changing it sets.

import type { ActionStore, HeldActions } from '../action-store.ts';
import { SCRIPTS } from './commands.ts';
import type { RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';
import { moveArguments } from './redis-labels.ts';

/** Life of an entry after its last change or confirmation, twice the time that it counts as confirmed. */
const LIFETIME_MS = 7 * 24 * 3_600_000;
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
      const calls = devices.map((device) => ({ key: keys.actions(device), args: [] }));
      const replies = await asked(connection.runEach(SCRIPTS.getActions, calls));
      const confirmedMs = confirmedAge();
      return devices.map((_, index) => heldOf(replies[index], confirmedMs, onFault));
    },

    async putActions(stored) {
      const calls = stored.map(({ revision, text, ...device }) => {
        return { key: keys.actions(device), args: [`${revision} 0 ${text}`, String(LIFETIME_MS)] };
      });
      await asked(connection.runAll(SCRIPTS.putActions, calls));
    },

    async changeActions(changes) {
      const calls = changes.map(({ revision, text, expected, unstoredSince, ...device }) => {
        const value = `${revision} ${Math.trunc(unstoredSince)} ${text}`;
        return { key: keys.actions(device), args: [String(expected), value, String(LIFETIME_MS)] };
      });
      const replies = await asked(connection.runEach(SCRIPTS.changeActions, calls));
      return replies.map((reply) => reply === 1);
    },

    async noteStored(stored) {
      const calls = stored.map(({ revision, ...device }) => {
        return { key: keys.actions(device), args: [String(revision)] };
      });
      await asked(connection.runAll(SCRIPTS.noteStoredActions, calls));
    },

    async dropActions(devices) {
      const calls = devices.map((device) => ({ key: keys.actions(device), args: [] }));
      await connection.runAll(SCRIPTS.dropLabels, calls);
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
  const [leftMs, held] = reply as [number, string];
  const [, unstoredSince, text] = HELD.exec(held) ?? [];
  if (text === undefined) {
    onFault(new Error('ignored malformed actions of a device'));
    return undefined;
  }
  const isConfirmed = LIFETIME_MS - leftMs < confirmedMs;
  return { text, isConfirmed, unstoredSince: Number(unstoredSince) };
}
