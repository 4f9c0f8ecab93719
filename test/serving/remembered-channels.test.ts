// Tests what a process remembers of the record, by itself and by its engine.

import { expect, it } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { RememberedChannels } from '../../src/serving/ledger-recovery.ts';
import type { ChannelNameList, SharedRecord } from '../../src/store/engine.ts';

const STATE = { epoch: 3, revision: 1 };

function channelOf(id: string) {
  return { appId: 'app_1', appRef: 'app', channelId: id, channel: 'stable' };
}

function listOf(tag: string, ...ids: string[]): ChannelNameList {
  return { tag, isComplete: true, channels: ids.map(channelOf) };
}

/** Memory of a process whose disk and engine a test changes; an engine without a list has none. */
function furnish() {
  const disk = { record: undefined as string | undefined, ids: [] as string[] };
  const engine = {
    isAway: false,
    record: undefined as string | undefined,
    list: undefined as ChannelNameList | undefined,
  };
  const memory = new RememberedChannels(
    { list: async () => disk.ids.map(channelOf), readRecord: async () => disk.record },
    {
      async readShared(heldTag): Promise<SharedRecord> {
        if (engine.isAway) throw new Unavailable('engine', 'away');
        const { record, list } = engine;
        return { record, tag: list?.tag, list: list?.tag === heldTag ? undefined : list };
      },
    },
  );
  const ids = async (place: 'own' | 'shared') =>
    (await memory[place]())?.channels.map(({ channelId }) => channelId);
  return { disk, engine, memory, ids };
}

it('loaded channels are its own once the record is known: before, they may be of another one', async () => {
  const { disk, memory, ids } = furnish();
  disk.ids = ['on-disk'];
  memory.note({ ...channelOf('loaded'), ...STATE });
  expect(await ids('own')).toEqual(['on-disk']);
  memory.admit('rec_1');
  expect(await memory.own()).toMatchObject({ record: 'rec_1' });
  expect(await ids('own')).toEqual(['on-disk', 'loaded']);
  expect(memory.highestEpoch).toBe(3);
  memory.forget([channelOf('loaded')]);
  expect(await ids('own')).toEqual(['on-disk']);
});

it('the disk tells the record until the database has', async () => {
  const { disk, memory } = furnish();
  disk.record = 'rec_1';
  expect((await memory.own()).record).toBe('rec_1');
});

it('what the engine had counts when it was emptied, and not when it is another one', async () => {
  const { engine, memory, ids } = furnish();
  engine.record = 'rec_1';
  engine.list = listOf('one', 'a', 'b');
  expect(await ids('shared')).toEqual(['a', 'b']);
  expect(await memory.shared()).toMatchObject({ record: 'rec_1' });
  Object.assign(engine, { record: undefined, list: undefined });
  expect(await ids('shared')).toEqual(['a', 'b']);
  expect(await memory.shared()).toMatchObject({ record: 'rec_1' });
  engine.record = 'rec_2';
  expect(await memory.shared()).toEqual({ record: 'rec_2', channels: [] });
});

it('an engine that is away tells nothing, which is not the same as none', async () => {
  const { engine, memory, ids } = furnish();
  expect(await ids('shared')).toEqual([]);
  engine.isAway = true;
  expect(await memory.shared()).toBeUndefined();
});
