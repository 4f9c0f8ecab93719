// The queue of check-ins in Redis: a stream with one consumer group. `CheckInQueue` states the obligations.
//
//   appended ──take──▶ taken ──acknowledge──▶ gone
//                        └──abandoned──▶ taken by another, or by the same again
//
// Redis records which consumer took which batch. A consumer whose answer was lost is treated like one that
// died. A consumer does not get a batch again that it has taken, unless it has held the batch for so long
// that it counts as abandoned.
//
// A take that waits polls on the shared connection. A blocking read would need connections of its own (in a
// cluster, one to each node), would not notice batches abandoned during the wait, and would wake up for every
// single batch, while a short pause collects the batches of many nodes.

import { setTimeout as sleep } from 'node:timers/promises';
import type { CheckInBatch, CheckInQueue } from '../../ports/check-in-queue.ts';
import { packCheckInPayload, parseCheckInPayload } from './check-in-payload.ts';
import { CommandBuffer } from './command-buffer.ts';
import type { RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';
import { SCRIPTS } from './script.ts';

/** Bytes that Redis needs for a batch beside its payload, about. */
const BATCH_BYTES = 256;
const GROUP = 'drain';
/** Maximum number of idle command buffers kept: as many appends as a node has in flight at a time. */
const SPARE_BUFFERS_MAX = 8;
/**
 * Milliseconds between two polls of a waiting take: as often as a node appends. A closed engine ends the wait
 * within it.
 */
const POLL_INTERVAL_MS = 50;

/** Creates the queue of one node; all nodes give it the same maximum number of bytes in Redis. */
export function createRedisCheckIns(
  connection: RedisConnection,
  keys: Keys,
  bytesMax: number,
  onFault: (error: unknown) => void,
): CheckInQueue {
  let lastTaker: string | undefined;
  const spareBuffers: CommandBuffer[] = [];

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
    // Removed from the stream, because every other consumer would fail on it as well.
    await acknowledge(malformedIds);
    return batches;
  }

  async function acknowledge(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await connection.run(SCRIPTS.acknowledgeCheckIns, keys.checkIns, GROUP, ...ids);
  }

  return {
    async appendCheckIns(checkIns) {
      const buffer = spareBuffers.pop() ?? new CommandBuffer();
      packCheckInPayload(checkIns, (byteLength) => buffer.roomFor(byteLength));
      const bounds = [String(bytesMax), String(BATCH_BYTES)];
      const { appendCheckIns } = SCRIPTS;
      const reply = await connection.runWithBytes(appendCheckIns, keys.checkIns, bounds, buffer);
      // The answer proves that the driver has sent the buffer. After a rejection the driver may still hold
      // it, so it is not reused.
      if (spareBuffers.length < SPARE_BUFFERS_MAX) spareBuffers.push(buffer);
      return reply === 1 ? 'accepted' : 'full';
    },

    async takeCheckIns(taker, batchesMax, waitMs, abandonedMs) {
      const deadline = performance.now() + waitMs;
      for (;;) {
        const batches = await takeNow(taker, batchesMax, abandonedMs);
        const leftMs = deadline - performance.now();
        if (batches.length > 0 || leftMs <= 0) return batches;
        await sleep(Math.min(leftMs, POLL_INTERVAL_MS));
      }
    },

    acknowledgeCheckIns: acknowledge,

    countCheckIns: () => connection.readLength(keys.checkIns),

    async ageOfCheckIns() {
      return (await measureQueue(connection, keys.checkIns)).ageMs;
    },

    async weighCheckIns() {
      return (await measureQueue(connection, keys.checkIns)).bytes;
    },
  };
}

/** Measures the queue by a script that only an account with the rights of the service may run. */
export async function measureQueue(connection: Pick<RedisConnection, 'run'>, stream: string) {
  const reply = await connection.run(SCRIPTS.measureCheckIns, stream, String(BATCH_BYTES));
  const [batches, oldest, nowMs, bytes] = reply as [number, string, number, number];
  const ageMs = oldest === '' ? 0 : Math.max(0, nowMs - Number.parseInt(oldest, 10));
  return { batches, bytes, ageMs };
}

/** Splits the reply of take-check-ins.lua into parsed batches and ids of malformed ones. */
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
