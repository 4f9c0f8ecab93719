// Tests that a snapshot is put together from what is known and what has to be read, in bounded batches; and
// that entries of an index are compared with known ones as if both had been taken apart.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ServingSnapshot } from '../../../src/domain/decision/serving-snapshot.ts';
import { assembleSnapshot, compareEntries } from '../../../src/store/snapshot/assemble-snapshot.ts';
import {
  indexText,
  parseIndex,
  releaseText,
  type SnapshotIndex,
  writeIndex,
} from '../../../src/store/snapshot/snapshot-index.ts';
import { release, snapshot } from '../../domain/sample.ts';

function channelOf(count: number, notes = ''): ServingSnapshot {
  return snapshot(Array.from({ length: count }, (_, index) => release(`1.0.${index}`, { notes })));
}

function indexOf(whole: ServingSnapshot): SnapshotIndex {
  const index = parseIndex(indexText(writeIndex(whole)));
  if (index === undefined) throw new Error('malformed');
  return index;
}

/** Store of the texts of a snapshot, which notes the batches that it is asked for. */
function storeOf({ releases }: ServingSnapshot) {
  const texts = new Map(releases.map((each) => [each.edition, releaseText(each)]));
  const batches: number[] = [];
  const read = async (editions: readonly string[]) => {
    batches.push(editions.length);
    return editions.map((edition) => texts.get(edition));
  };
  return { texts, batches, read };
}

it('what is known is not read wherever it stands, and is the same object', async () => {
  const before = channelOf(100);
  const changed = release('1.0.7', { rolloutPct: 5 });
  const added = release('2.0.0', { offered: false });
  const releases = [...before.releases.with(7, changed).toReversed(), added];
  const after = snapshot(releases, { revision: 2 });
  const { batches, read } = storeOf(after);
  const assembled = await assembleSnapshot(indexOf(after), before, read);
  expect(assembled).toEqual(after);
  expect(batches).toEqual([2]);
  const same = assembled?.releases.filter((each) => before.releases.includes(each));
  expect(same).toHaveLength(99);
});

it('long releases are read in small batches, short ones in large ones', async () => {
  const [long, short] = [channelOf(100, 'n'.repeat(256 * 1024)), channelOf(3000)];
  const [slow, fast] = [storeOf(long), storeOf(short)];
  expect(await assembleSnapshot(indexOf(long), undefined, slow.read)).toEqual(long);
  expect(Math.max(...slow.batches.slice(1))).toBeLessThanOrEqual(8);
  await assembleSnapshot(indexOf(short), undefined, fast.read);
  expect(Math.max(...fast.batches)).toBeLessThanOrEqual(1024);
  expect(fast.batches.length).toBeLessThan(10);
});

it('the index of what was assembled is the one that it was made from', async () => {
  const before = channelOf(50);
  const added = release('2.0.0', { offered: true });
  const changed = release('1.0.7', { offered: false, status: 'paused' });
  const releases = [...before.releases.with(7, changed).toSpliced(30, 2), added];
  const after = snapshot(releases, { revision: 2 });
  const assembled = await assembleSnapshot(indexOf(after), before, storeOf(after).read);
  if (assembled === undefined) throw new Error('nothing was assembled');
  expect(writeIndex(assembled)).toEqual(writeIndex(structuredClone(assembled)));
});

it('nothing is read when only the mark of a first offer is new, either way', async () => {
  const before = channelOf(3);
  const releases = before.releases.map((each) => ({ ...each, offered: false }));
  const unmarked = { ...before, releases };
  const read = () => Promise.reject(new Error('read'));
  expect(await assembleSnapshot(indexOf(unmarked), before, read)).toEqual(unmarked);
  expect(await assembleSnapshot(indexOf(before), unmarked, read)).toEqual(before);
});

it('a release that the store lacks makes the snapshot incomplete', async () => {
  const whole = channelOf(3);
  const store = storeOf(whole);
  store.texts.delete(whole.releases[1]?.edition ?? '');
  expect(await assembleSnapshot(indexOf(whole), undefined, store.read)).toBeUndefined();
});

it('a text that is another release is refused', async () => {
  const whole = channelOf(3);
  const store = storeOf(whole);
  store.texts.set(whole.releases[1]?.edition ?? '', releaseText(release('9.9.9')));
  await expect(assembleSnapshot(indexOf(whole), undefined, store.read)).rejects.toThrow(
    'malformed',
  );
});

describe('entries', () => {
  const entries = fc.array(fc.constantFrom('a', 'b', 'bb', 'a*', 'b*', 'aab'), { maxLength: 6 });

  it('are what was known at the beginning and the end, and what is between', () => {
    fc.assert(
      fc.property(entries, entries, (now, before) => {
        const { first, last, between, instead } = compareEntries(now.join(' '), before.join(' '));
        expect(first + last).toBeLessThanOrEqual(before.length);
        expect([
          ...before.slice(0, first),
          ...(between === '' ? [] : between.split(' ')),
          ...before.slice(before.length - last),
        ]).toEqual(now);
        const gone = before.slice(first, before.length - last);
        expect(instead).toBe(gone.join(' '));
      }),
    );
  });

  it('that differ in one place have nothing else between', () => {
    fc.assert(
      fc.property(entries, entries, (head, tail) => {
        const text = [...head, 'new', ...tail].join(' ');
        const { between } = compareEntries(text, [...head, 'old', ...tail].join(' '));
        expect(between).toBe('new');
      }),
    );
  });
});
