// The check-in queue in Redis: streams with one consumer group each, which a Redis Cluster spreads over its
// nodes. The id of a batch is the number of its stream, its id there, and the number of its check-ins:
// `3/1790000000000-0/200`.
//
//   appended ──take──▶ taken ──acknowledge──▶ gone
//                        ├──reply lost──▶ taken by the same again, with its next take
//                        └──abandoned──▶ taken by another, or by the same again
//
// Redis records which consumer took which batch. A taker that missed the reply to a take, such as a process
// that was suspended for longer than a command may take, first asks for the batches that it has already: they
// would otherwise wait until they count as abandoned.
//
// A take polls on the shared connection. A blocking read would need a connection per node of a cluster, would
// miss abandoned batches, and would wake for every batch; a short pause collects those of many nodes.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { packCheckInPayload, parseCheckInPayload } from '../../domain/fleet/check-in-payload.ts';
import type { CheckInBatch, CheckInQueue } from '../check-in-queue.ts';
import { CommandBuffer, SCRIPTS } from './commands.ts';
import type { RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';

/** Number of streams, a power of two: as many drains can record at once. */
export const CHECK_IN_STREAMS = 8;

/** Approximate bytes that Redis needs for a batch besides its payload. */
const BATCH_BYTES = 256;
/** Milliseconds without a sign of life after which a taker is forgotten. */
const TAKER_LIVES_MS = 3000;
const ALL_STREAMS = Array.from({ length: CHECK_IN_STREAMS }, (_, stream) => stream);
/** Maximum number of idle command buffers: as many as a node appends batches at a time. */
const SPARE_BUFFERS_MAX = 8;
/** Milliseconds between polls of a waiting take: about as often as a node appends. */
const POLL_INTERVAL_MS = 50;

/**
 * Creates the queue; all nodes must pass the same `bytesMax`. `onLost` is called with the number of check-ins
 * that were accepted and are gone, because another program removed or overwrote a stream.
 */
export function createRedisCheckIns(
  connection: RedisConnection,
  keys: Keys,
  bytesMax: number,
  onFault: (error: unknown) => void,
  onLost: (count: number) => void,
): CheckInQueue {
  const taking = new StreamTaking(connection, keys, onFault);
  const spareBuffers: CommandBuffer[] = [];
  /** Whether the last take found nothing. The next takes then count first: one command for all streams. */
  let wasEmpty = false;
  /** Name of the region. An emptied Redis gets it again, so that the region keeps its mark in the ledger. */
  let region = `rgn_${randomUUID().slice(0, 8)}`;

  async function count(streams: readonly number[]): Promise<number> {
    const calls = streams.map((stream) => ({ key: keys.checkIns(stream), args: [] }));
    const counts = (await connection.runEach(SCRIPTS.countCheckIns, calls)) as readonly number[];
    return counts.reduce((sum, each) => sum + each, 0);
  }

  return {
    streams: CHECK_IN_STREAMS,

    async appendCheckIns(checkIns, stream = 0) {
      const buffer = spareBuffers.pop() ?? new CommandBuffer();
      packCheckInPayload(checkIns, (byteLength) => buffer.roomFor(byteLength));
      const bounds = [String(bytesMax / CHECK_IN_STREAMS), String(BATCH_BYTES)];
      const counts = [keys.checkInCount(stream), String(checkIns.count)];
      const { appendCheckIns } = SCRIPTS;
      const key = keys.checkIns(stream);
      const args = [...bounds, ...counts];
      const reply = Number(await connection.runWithBytes(appendCheckIns, key, args, buffer));
      if (reply > 1) onLost(reply - 1);
      // After the answer the driver is done with the buffer. After a rejection it may still hold it, so the
      // buffer is not reused.
      if (spareBuffers.length < SPARE_BUFFERS_MAX) spareBuffers.push(buffer);
      return reply > 0 ? 'accepted' : 'full';
    },

    async shareCheckIns(taker) {
      const args = [taker, String(TAKER_LIVES_MS)];
      return (await connection.run(SCRIPTS.shareCheckIns, keys.takers, ...args)) as string[];
    },

    async leaveCheckIns(taker) {
      await connection.run(SCRIPTS.leaveCheckIns, keys.takers, taker);
    },

    async takeCheckIns(taker, batchesMax, waitMs, abandonedMs, streams = ALL_STREAMS) {
      const deadline = performance.now() + waitMs;
      for (;;) {
        const isEmpty = wasEmpty && (await count(streams)) === 0;
        const batches = isEmpty ? [] : await taking.take(streams, taker, batchesMax, abandonedMs);
        wasEmpty = batches.length === 0;
        const leftMs = deadline - performance.now();
        if (batches.length > 0 || leftMs <= 0) return batches;
        await sleep(Math.min(leftMs, POLL_INTERVAL_MS));
      }
    },

    acknowledgeCheckIns: (ids) => taking.acknowledge(ids),

    countCheckIns: () => count(ALL_STREAMS),

    async ageOfCheckIns() {
      return (await measureQueue(connection, keys)).ageMs;
    },

    async nameRegion() {
      region = String(await connection.run(SCRIPTS.claimField, keys.record, 'region', region));
      return region;
    },

    async weighCheckIns() {
      return (await measureQueue(connection, keys)).bytes;
    },
  };
}

/** Measures the queue with a script that needs the same Redis rights as the service. */
export async function measureQueue(connection: Pick<RedisConnection, 'run'>, keys: Keys) {
  const streams = await Promise.all(
    ALL_STREAMS.map(async (stream) => {
      const key = keys.checkIns(stream);
      const reply = await connection.run(SCRIPTS.measureCheckIns, key, String(BATCH_BYTES));
      const [batches, oldest, nowMs, bytes] = reply as [number, string, number, number];
      const ageMs = oldest === '' ? 0 : Math.max(0, nowMs - Number.parseInt(oldest, 10));
      return { batches, bytes, ageMs };
    }),
  );
  return {
    batches: streams.reduce((sum, { batches }) => sum + batches, 0),
    bytes: streams.reduce((sum, { bytes }) => sum + bytes, 0),
    ageMs: Math.max(...streams.map(({ ageMs }) => ageMs)),
  };
}

// Takes batches of check-ins from the streams and acknowledges them.

const GROUP = 'drain';

class StreamTaking {
  /** Name of the last taker of each stream. */
  private readonly lastTakers: (string | undefined)[] = [];
  /**
   * Takers, each with its stream, that may hold batches of a take whose reply was lost: at most eight streams
   * for each drain of this process.
   */
  private readonly unheard = new Set<string>();
  /** Counter that rotates the stream with which a take begins. */
  private turn = 0;

  constructor(
    private readonly connection: RedisConnection,
    private readonly keys: Keys,
    private readonly onFault: (error: unknown) => void,
  ) {}

  /**
   * Takes from one stream after another without waiting; each call begins with the next stream. If a stream
   * fails, returns the batches of the streams before it; rejects if they had none.
   */
  async take(
    streams: readonly number[],
    taker: string,
    batchesMax: number,
    abandonedMs: number,
  ): Promise<CheckInBatch[]> {
    const batches: CheckInBatch[] = [];
    this.turn += 1;
    for (let index = 0; index < streams.length && batches.length < batchesMax; index++) {
      const stream = streams[(this.turn + index) % streams.length] as number;
      const countMax = batchesMax - batches.length;
      try {
        batches.push(...(await this.takeFrom(stream, taker, countMax, abandonedMs)));
      } catch (error) {
        this.unheard.add(takerOn(stream, taker));
        // A stream that keeps failing soon comes first in a take, which then rejects.
        if (batches.length === 0) throw error;
        return batches;
      }
    }
    return batches;
  }

  async acknowledge(ids: readonly string[]): Promise<void> {
    const streams = [...new Set(ids.map(streamOf))];
    await Promise.all(
      streams.map((stream) => {
        const own = ids.filter((id) => streamOf(id) === stream);
        const entries = own.flatMap((id) => {
          const [, entry = '', count = '0'] = id.split('/');
          return [entry, count];
        });
        const key = this.keys.checkIns(stream);
        const args = [GROUP, this.keys.checkInCount(stream), ...entries];
        return this.connection.run(SCRIPTS.acknowledgeCheckIns, key, ...args);
      }),
    );
  }

  private async takeFrom(
    stream: number,
    taker: string,
    batchesMax: number,
    abandonedMs: number,
  ): Promise<CheckInBatch[]> {
    const isFirst = taker !== this.lastTakers[stream];
    const isUnheard = this.unheard.has(takerOn(stream, taker));
    const flags = [isFirst, isUnheard].map((flag) => (flag ? '1' : '0'));
    const args = [GROUP, taker, String(batchesMax), String(Math.ceil(abandonedMs)), ...flags];
    const key = this.keys.checkIns(stream);
    const reply = await this.connection.runForBytes(SCRIPTS.takeCheckIns, key, ...args);
    this.lastTakers[stream] = taker;
    const { batches, malformedIds } = parseTaken(reply as readonly Buffer[], stream);
    const isAll = batches.length + malformedIds.length < batchesMax;
    if (isAll) this.unheard.delete(takerOn(stream, taker));
    for (const id of malformedIds) this.onFault(new Error(`dropped a malformed batch (${id})`));
    // Removed from the stream, because no consumer can read them.
    await this.acknowledge(malformedIds);
    return batches;
  }
}

/** Splits the reply of take-check-ins.lua into parsed batches and the ids of malformed ones. */
function parseTaken(reply: readonly Buffer[], stream: number) {
  const batches: CheckInBatch[] = [];
  const malformedIds: string[] = [];
  for (let at = 0; at < reply.length; at += 2) {
    const id = `${stream}/${reply[at]}`;
    const checkIns = parseCheckInPayload(reply[at + 1] as Buffer);
    if (checkIns === undefined) malformedIds.push(id);
    else batches.push({ id: `${id}/${checkIns.length}`, checkIns });
  }
  return { batches, malformedIds };
}

/** Returns the entry of `unheard` for a taker and a stream. */
function takerOn(stream: number, taker: string): string {
  return `${stream}/${taker}`;
}

/** Returns the number of a batch's stream. */
function streamOf(id: string): number {
  return Number.parseInt(id, 10);
}
