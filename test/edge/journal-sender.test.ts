// Tests of handing check-ins over: in order, again after a failure, and past what can never be taken.

import { afterEach, expect, it, vi } from 'vitest';
import type { EdgeAnswer } from '../../src/contract/edge.ts';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { joinBatches } from '../../src/domain/fleet/check-in-payload.ts';
import { JournalSender, uploadCall } from '../../src/edge/journal-sender.ts';
import {
  type ProvenAnswer,
  RefusedByUpstream,
  type UpstreamCall,
} from '../../src/edge/upstream-client.ts';
import { eventually } from '../support/eventually.ts';

/** A journal of these batches, and an upstream that answers as `take` says. */
function furnish(batches: string[], take: (texts: readonly string[]) => void) {
  const told = { accepted: 0, refused: 0, faults: 0 };
  const journal = {
    read: async (bytesMax: number) =>
      batches.slice(0, bytesMax === 1 ? 1 : batches.length).map((text) => Buffer.from(text)),
    async acknowledge(count: number) {
      batches.splice(0, count);
    },
    appended: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, Math.min(ms, 5))),
  };
  const client = {
    async call<Kind extends EdgeAnswer['kind']>(_: Kind, { body }: UpstreamCall) {
      const texts = textsOf(body as Buffer);
      take(texts);
      const answer = { kind: 'check-ins', accepted: texts.length, dropped: 0 };
      return { answer, bytes: Buffer.alloc(0), proof: '' } as unknown as ProvenAnswer<Kind>;
    },
  };
  const sender = new JournalSender({
    journal,
    send: uploadCall(client, 'check-ins', joinBatches),
    onUploaded: ({ accepted }) => {
      told.accepted += accepted;
    },
    onRefused: () => {
      told.refused += 1;
    },
    onFault: () => {
      told.faults += 1;
    },
  });
  const allHandedOver = async () => {
    sender.start();
    await eventually('all is uploaded', () => batches.length === 0);
    await sender.stop();
  };
  return { allHandedOver, told };
}

function textsOf(body: Buffer): string[] {
  const texts: string[] = [];
  for (let at = 0; at < body.length; ) {
    const end = at + 4 + body.readUInt32LE(at);
    texts.push(body.toString('utf8', at + 4, end));
    at = end;
  }
  return texts;
}

const away = () => new Unavailable('upstream', new Error('away'));
const unknown = () => new RefusedByUpstream(404, 'not found');

it.each([
  ['goes in its order, and is acknowledged once it was taken', [], [['one', 'two']], 0],
  // One by one at first.
  [
    'is tried again where the upstream is away',
    [away, away],
    [['one', 'two'], ['one'], ['one'], ['two']],
    2,
  ],
  [
    'is not lost where the upstream does not know the call',
    [unknown],
    [['one', 'two'], ['one'], ['two']],
    1,
  ],
])('what waits %s', async (_, failures, expected, faults) => {
  const tries: string[][] = [];
  const { allHandedOver, told } = furnish(['one', 'two'], (texts) => {
    tries.push([...texts]);
    const failure = failures[tries.length - 1];
    if (failure !== undefined) throw failure();
  });
  await allHandedOver();
  expect(tries).toEqual(expected);
  expect(told).toEqual({ accepted: 2, refused: 0, faults });
});

it('a batch that the upstream can never take is dropped and told, the others are not', async () => {
  const taken: string[] = [];
  const { allHandedOver, told } = furnish(['one', 'bad', 'three'], (texts) => {
    if (texts.includes('bad')) throw new RefusedByUpstream(400, 'malformed');
    taken.push(...texts);
  });
  await allHandedOver();
  expect(taken).toEqual(['one', 'three']);
  expect(told).toEqual({ accepted: 2, refused: 1, faults: 0 });
});

afterEach(() => void vi.useRealTimers());

it('goes on when an upload never ends, however it came to that (§29.11)', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const batches = [Buffer.from('a')];
  let uploads = 0;
  let faults = 0;
  const sender = new JournalSender({
    journal: {
      read: async () => batches,
      acknowledge: async () => void batches.splice(0),
      appended: () => new Promise((resolve) => setTimeout(resolve, 100)),
    },
    async send() {
      uploads += 1;
      return uploads === 1 ? new Promise(() => undefined) : { accepted: 1, dropped: 0 };
    },
    onUploaded: () => undefined,
    onRefused: () => undefined,
    onFault: () => {
      faults += 1;
    },
  });
  sender.start();
  await vi.advanceTimersByTimeAsync(16_000);
  vi.useRealTimers();
  await eventually('it is uploaded', () => batches.length === 0);
  await sender.stop();
  expect([uploads, faults]).toEqual([2, 1]);
});
