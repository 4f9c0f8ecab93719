// Tests of what an edge accepts as the state of its upstream (§29.3, §29.10).

import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { EdgeIndexAnswer, EdgeIndexEntry } from '../../src/contract/edge.ts';
import { FollowedState, type IndexRefusal, isIndex } from '../../src/edge/followed-state.ts';

function entry(channel: string, revision: number, ...offered: string[]): EdgeIndexEntry {
  return ['app_1', 'app', `chn_${channel}`, channel, revision, offered];
}

function index(
  epoch: number,
  channels: readonly EdgeIndexEntry[],
  parts: Partial<EdgeIndexAnswer> = {},
): EdgeIndexAnswer {
  const tag = JSON.stringify([epoch, channels]);
  const named = { kind: 'index', record: 'rec_1', line: 'a', at: 1_000_000 } as const;
  return { ...named, epoch, tag, channels, isComplete: true, ...parts };
}

function following(...indexes: readonly EdgeIndexAnswer[]): FollowedState {
  const state = new FollowedState();
  for (const each of indexes) state.adopt(each);
  return state;
}

it.each<[string, EdgeIndexAnswer, IndexRefusal | undefined]>([
  ['the same', index(3, [entry('stable', 5), entry('beta', 2)]), undefined],
  ['a newer revision', index(3, [entry('stable', 6), entry('beta', 2)]), undefined],
  [
    'an older revision of any channel',
    index(3, [entry('stable', 6), entry('beta', 1)]),
    'replayed',
  ],
  ['an older epoch', index(2, [entry('stable', 9), entry('beta', 9)]), 'replayed'],
  ['a newer epoch, whatever its revisions', index(4, [entry('stable', 1)]), undefined],
  [
    'another time line of the same epoch',
    index(3, [entry('stable', 9)], { line: 'b' }),
    'replayed',
  ],
  ['a time line without a name', index(3, [entry('stable', 5)], { line: null }), undefined],
  ['fewer channels', index(3, [entry('stable', 5)]), undefined],
  ['a clock that was set back', index(3, [entry('stable', 5)], { at: 1 }), undefined],
  ['another record', index(9, [entry('stable', 9)], { record: 'rec_2' }), 'foreign'],
  // A service of the version before tells no record.
  [
    'no record, and a known channel',
    index(3, [entry('stable', 5)], { record: undefined }),
    undefined,
  ],
  [
    'no record, and none of the channels',
    index(9, [entry('x', 5)], { record: undefined }),
    'foreign',
  ],
])('with %s an index is judged by its record, epoch and revisions', (_, next, refusal) => {
  const state = following(index(3, [entry('stable', 5), entry('beta', 2)]));
  expect(state.refusalOf(next)).toBe(refusal);
});

it('what was kept before there were names of records is of the record that has a channel of it', () => {
  const kept = index(3, [entry('stable', 5)], { record: undefined, line: undefined });
  expect(following(kept).record).toBeUndefined();
  expect(following(kept).refusalOf(index(3, [entry('stable', 5)]))).toBeUndefined();
  expect(following(kept).refusalOf(index(3, [entry('x', 5)]))).toBe('foreign');
  expect(following(index(3, [], { record: undefined })).refusalOf(index(3, []))).toBeUndefined();
  // Once it is known, it stays, also when a node of an earlier version answers.
  expect(following(kept, index(3, [entry('stable', 5)]), kept).record).toBe('rec_1');
});

it('only what is new is announced: changes, and first offers', () => {
  const state = following(index(0, [entry('stable', 5), entry('beta', 2)]));
  const told = { appRef: 'app', channel: 'beta', channelId: 'chn_beta', epoch: 0 };
  expect(state.adopt(index(0, [entry('stable', 5), entry('beta', 3)]))).toEqual([
    { ...told, revision: 3 },
  ]);
  expect(state.adopt(index(0, [entry('stable', 5), entry('beta', 3, 'r1')]))).toEqual([
    { ...told, revision: 3, offeredReleaseId: 'r1' },
  ]);
  expect(state.adopt(index(0, [entry('stable', 5), entry('beta', 4, 'r1')]))).toEqual([
    { ...told, revision: 4 },
    { ...told, revision: 4, offeredReleaseId: 'r1' },
  ]);
  // Of a newer epoch everything is, also at lower revisions.
  expect(state.adopt(index(1, [entry('stable', 1), entry('beta', 4, 'r1')]))).toMatchObject([
    { channel: 'stable', epoch: 1, revision: 1 },
    { channel: 'beta', epoch: 1, revision: 4 },
    { channel: 'beta', epoch: 1, revision: 4, offeredReleaseId: 'r1' },
  ]);
});

it('names are found by ref and id; what is not there is told apart, and whether all are', () => {
  const state = following(index(0, [entry('stable', 5)]));
  const part = following(index(0, [entry('stable', 5)], { isComplete: false }));
  expect([state.isComplete, part.isComplete]).toEqual([true, false]);
  expect(state.find('app', 'stable')).toMatchObject({ channelId: 'chn_stable' });
  expect(state.find('app_1', 'stable')).toMatchObject({ channelId: 'chn_stable' });
  expect(state.find('app', 'beta')).toBe('unknown-channel');
  expect(state.find('other', 'stable')).toBe('unknown-app');
});

it('a state that was seen is the least that is accepted, until an index or an epoch passes it', () => {
  const state = following(index(0, [entry('stable', 5)]));
  state.see('chn_stable', { epoch: 0, revision: 7 });
  state.see('chn_stable', { epoch: 0, revision: 6 });
  state.see('chn_other', { epoch: 0, revision: 9 });
  // Of another copy of the record, to which one call has led.
  state.see('chn_stable', { epoch: 1, revision: 9 });
  expect(state.newestOf('chn_stable')).toEqual({ epoch: 0, revision: 7 });
  expect(state.revisionsOf(['chn_stable', 'chn_other'])).toEqual(new Map([['chn_stable', 7]]));
  state.adopt(index(1, [entry('stable', 2)]));
  expect(state.newestOf('chn_stable')).toEqual({ epoch: 1, revision: 2 });
  expect(state.revisionsOf(['chn_stable'])).toEqual(new Map([['chn_stable', 2]]));
});

it('whatever is offered, an accepted state never goes back', () => {
  const place = fc.record({ epoch: fc.nat(3), revision: fc.nat(5), ahead: fc.nat(30_000) });
  fc.assert(
    fc.property(fc.array(place, { maxLength: 20 }), (places) => {
      const state = following();
      let [epoch, revision] = [-1, -1];
      for (const next of places) {
        const offered = index(next.epoch, [entry('stable', next.revision)], { at: next.ahead });
        if (state.refusalOf(offered) !== undefined) continue;
        state.adopt(offered);
        const isForward = next.epoch > epoch || (next.epoch === epoch && next.revision >= revision);
        expect(isForward).toBe(true);
        [epoch, revision] = [next.epoch, next.revision];
      }
    }),
  );
});

it('an index whose parts have other types is none', () => {
  const good = index(0, [entry('stable', 1, 'r')]);
  expect(isIndex(good)).toBe(true);
  const parts: readonly Partial<Record<keyof EdgeIndexAnswer, unknown>>[] = [
    { epoch: 'x' },
    { record: 1 },
    { line: 1 },
    { at: undefined },
    { tag: 1 },
    { isComplete: 'yes' },
    { channels: {} },
    { channels: [['app_1', 'app', 'chn', 'stable', 1]] },
    { channels: [['app_1', 'app', 'chn', 'stable', '1', []]] },
    { channels: ['x'] },
  ];
  for (const part of parts) {
    expect(isIndex({ ...good, ...part } as Partial<EdgeIndexAnswer>), JSON.stringify(part)).toBe(
      false,
    );
  }
});
