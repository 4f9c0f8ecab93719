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

it('batches go in their order, and are acknowledged once they were taken', async () => {
  const batches = ['one', 'two', 'three'];
  const taken: string[] = [];
  const { allHandedOver, told } = furnish(batches, (texts) => taken.push(...texts));
  await allHandedOver();
  expect(taken).toEqual(['one', 'two', 'three']);
  expect(told).toEqual({ accepted: 3, refused: 0, faults: 0 });
});

it('an upstream that is away gets the same again, one by one at first', async () => {
  const batches = ['one', 'two'];
  const tries: string[][] = [];
  const { allHandedOver, told } = furnish(batches, (texts) => {
    tries.push([...texts]);
    if (tries.length < 3) throw new Unavailable('upstream', new Error('away'));
  });
  await allHandedOver();
  expect(tries).toEqual([['one', 'two'], ['one'], ['one'], ['two']]);
  expect(told).toEqual({ accepted: 2, refused: 0, faults: 2 });
});

it('a batch that the upstream can never take is dropped and told, the others are not', async () => {
  const batches = ['one', 'bad', 'three'];
  const taken: string[] = [];
  const { allHandedOver, told } = furnish(batches, (texts) => {
    if (texts.includes('bad')) throw new RefusedByUpstream(400, 'malformed');
    taken.push(...texts);
  });
  await allHandedOver();
  expect(taken).toEqual(['one', 'three']);
  expect(told).toEqual({ accepted: 2, refused: 1, faults: 0 });
});

it('an upstream that does not know the call loses nothing', async () => {
  const batches = ['one'];
  let tries = 0;
  const { allHandedOver, told } = furnish(batches, () => {
    tries += 1;
    if (tries === 1) throw new RefusedByUpstream(404, 'not found');
  });
  await allHandedOver();
  expect(told).toEqual({ accepted: 1, refused: 0, faults: 1 });
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
