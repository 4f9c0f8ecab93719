// The queue of check-ins in Redis: a stream, and a group of its takers. Obligations: see the interface.
//
//   appended ──take──▶ taken ──acknowledge──▶ gone
//                        └──abandoned──▶ taken by another, or by the same again
//
// Redis remembers who took what, not the process that asked: a taker whose answer got lost is treated like
// one that died, and a taker never gets again what it has in hand, unless it has held it for so long that
// anybody could take it.
//
// A take that waits asks again and again, on the connection of all commands. Blocking in Redis would need
// connections of its own (in a cluster, to each node), would not notice what is abandoned during the
// wait, and would be woken for every single batch: a moment's pause gathers those of many nodes.

import { setTimeout as sleep } from 'node:timers/promises';
import type { CheckInBatch, CheckInQueue } from '../../ports/check-in-queue.ts';
import { packCheckInPayload, parseCheckInPayload } from './check-in-payload.ts';
import { CommandBuffer } from './command-buffer.ts';
import type { RedisConnection } from './connection.ts';
import { keys } from './keys.ts';
import { SCRIPTS } from './script.ts';

/** A batch of a busy node is about a hundred kilobytes: at the bound Redis holds a gigabyte. */
const BATCHES_MAX = 10_000;
const GROUP = 'drain';
/** As many as a node has under way at a time. */
const SPARES_MAX = 8;
/** As often as a node appends. A wait notices within it that the engine was closed. */
const ASK_INTERVAL_MS = 50;

export function createRedisCheckIns(
  connection: RedisConnection,
  onFault: (error: unknown) => void,
): CheckInQueue {
  let lastTaker: string | undefined;
  const spares: CommandBuffer[] = [];

  async function takeNow(
    taker: string,
    batchesMax: number,
    abandonedMs: number,
  ): Promise<CheckInBatch[]> {
    const numbers = [batchesMax, Math.ceil(abandonedMs), taker === lastTaker ? 0 : 1].map(String);
    const args = [GROUP, taker, ...numbers];
    const reply = await connection.runForBytes(SCRIPTS.takeCheckIns, keys.checkIns, ...args);
    lastTaker = taker;
    const { batches, malformedIds } = parseTaken(reply as readonly Buffer[]);
    for (const id of malformedIds) onFault(new Error(`dropped a malformed batch (${id})`));
    // It would be malformed for whoever took it next.
    await acknowledge(malformedIds);
    return batches;
  }

  async function acknowledge(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await connection.run(SCRIPTS.acknowledgeCheckIns, keys.checkIns, GROUP, ...ids);
  }

  return {
    async appendCheckIns(checkIns) {
      const buffer = spares.pop() ?? new CommandBuffer();
      packCheckInPayload(checkIns, (byteLength) => buffer.roomFor(byteLength));
      const bound = String(BATCHES_MAX);
      const reply = await connection.runWithBytes(
        SCRIPTS.appendCheckIns,
        keys.checkIns,
        bound,
        buffer,
      );
      // Answered, so it was sent. After a rejection nobody knows, and the buffer is left to whoever has it.
      if (spares.length < SPARES_MAX) spares.push(buffer);
      return reply === 1 ? 'accepted' : 'full';
    },

    async takeCheckIns(taker, batchesMax, waitMs, abandonedMs) {
      const deadline = performance.now() + waitMs;
      for (;;) {
        const batches = await takeNow(taker, batchesMax, abandonedMs);
        const leftMs = deadline - performance.now();
        if (batches.length > 0 || leftMs <= 0) return batches;
        await sleep(Math.min(leftMs, ASK_INTERVAL_MS));
      }
    },

    acknowledgeCheckIns: acknowledge,

    countCheckIns: () => connection.readLength(keys.checkIns),
  };
}

/** Reads what the script answers. */
function parseTaken(reply: readonly Buffer[]) {
  const batches: CheckInBatch[] = [];
  const malformedIds: string[] = [];
  for (let at = 0; at < reply.length; at += 2) {
    const id = String(reply[at]);
    const checkIns = parseCheckInPayload(reply[at + 1] as Buffer);
    if (checkIns === undefined) malformedIds.push(id);
    else batches.push({ id, checkIns });
  }
  return { batches, malformedIds };
}
