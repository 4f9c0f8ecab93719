// Taking batches of check-ins from the streams in Redis, and acknowledging them. The id of a batch begins
// with the number of its stream.

import { parseCheckInPayload } from '../../domain/fleet/check-in-payload.ts';
import type { CheckInBatch } from '../check-in-queue.ts';
import type { RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';
import { SCRIPTS } from './script.ts';

const GROUP = 'drain';

export class StreamTaking {
  private readonly connection: RedisConnection;
  private readonly keys: Keys;
  private readonly onFault: (error: unknown) => void;
  /** Name of the taker that took last from each stream. */
  private readonly lastTakers: (string | undefined)[] = [];
  /** Turn that decides which stream a take begins with. */
  private turn = 0;

  constructor(connection: RedisConnection, keys: Keys, onFault: (error: unknown) => void) {
    this.connection = connection;
    this.keys = keys;
    this.onFault = onFault;
  }

  /** Takes from one stream after the other, without waiting, each time beginning with the next. */
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
      batches.push(...(await this.takeFrom(stream, taker, countMax, abandonedMs)));
    }
    return batches;
  }

  /** Deletes batches from their streams. */
  async acknowledge(ids: readonly string[]): Promise<void> {
    const streams = [...new Set(ids.map(streamOf))];
    await Promise.all(
      streams.map((stream) => {
        const own = ids.filter((id) => streamOf(id) === stream);
        const entries = own.map((id) => id.slice(id.indexOf('/') + 1));
        const key = this.keys.checkIns(stream);
        return this.connection.run(SCRIPTS.acknowledgeCheckIns, key, GROUP, ...entries);
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
    const numbers = [batchesMax, Math.ceil(abandonedMs), isFirst ? 1 : 0].map(String);
    const key = this.keys.checkIns(stream);
    const args = [GROUP, taker, ...numbers];
    const reply = await this.connection.runForBytes(SCRIPTS.takeCheckIns, key, ...args);
    this.lastTakers[stream] = taker;
    const { batches, malformedIds } = parseTaken(reply as readonly Buffer[], stream);
    for (const id of malformedIds) this.onFault(new Error(`dropped a malformed batch (${id})`));
    // Removed from the stream, because every other consumer would fail on it as well.
    await this.acknowledge(malformedIds);
    return batches;
  }
}

/** Splits the reply of take-check-ins.lua into parsed batches and ids of malformed ones. */
function parseTaken(reply: readonly Buffer[], stream: number) {
  const batches: CheckInBatch[] = [];
  const malformedIds: string[] = [];
  for (let at = 0; at < reply.length; at += 2) {
    const id = `${stream}/${reply[at]}`;
    const checkIns = parseCheckInPayload(reply[at + 1] as Buffer);
    if (checkIns === undefined) malformedIds.push(id);
    else batches.push({ id, checkIns });
  }
  return { batches, malformedIds };
}

/** Returns the stream of a batch. */
function streamOf(id: string): number {
  return Number.parseInt(id, 10);
}
