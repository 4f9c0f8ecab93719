// Tests the index of a snapshot: read as it was written, and nothing else is taken for one.

import { expect, it } from 'vitest';
import {
  compareIndexes,
  indexText,
  parseEntries,
  parseIndex,
  type SnapshotIndex,
  writeIndex,
} from '../../../src/store/snapshot/snapshot-index.ts';
import { release, snapshot } from '../../domain/sample.ts';

const OFFERED = release('1.0.0', { edition: 'first', offered: true });
const NEW = release('1.1.0', { edition: 'second', offered: false });
const WHOLE = snapshot([OFFERED, NEW], {
  epoch: 3,
  revision: 12,
  minimumSupportedVersion: '1.0.0',
});

function indexOf(text: string): SnapshotIndex {
  const index = parseIndex(text);
  if (index === undefined) throw new Error('malformed');
  return index;
}

it('an index is read as it was written', () => {
  const { releases: _, ...head } = WHOLE;
  expect(parseIndex(indexText(writeIndex(WHOLE)))).toEqual({
    head,
    entries: 'first* second',
  });
  expect(parseEntries('first* second')).toEqual([
    { edition: 'first', isOffered: true, isFollowed: false },
    { edition: 'second', isOffered: false, isFollowed: false },
  ]);
});

it('releases of the followed channel are marked in the index', () => {
  const followed = [
    { ...OFFERED, followed: true },
    { ...NEW, followed: true },
  ];
  const text = indexText(writeIndex({ ...WHOLE, follows: 'base', releases: followed }));
  expect(parseIndex(text)).toMatchObject({
    head: { follows: 'base' },
    entries: 'first~* second~',
  });
  expect(parseEntries('first~* second~')).toEqual([
    { edition: 'first', isOffered: true, isFollowed: true },
    { edition: 'second', isOffered: false, isFollowed: true },
  ]);
});

it('a channel without releases has an index', () => {
  expect(parseIndex(indexText(writeIndex({ ...WHOLE, releases: [] })))?.entries).toBe('');
  expect(parseEntries('')).toEqual([]);
});

it.each(Object.keys(WHOLE).filter((key) => key !== 'releases'))(
  'without %s, or with one of another type, it is refused',
  (key) => {
    for (const wrong of [undefined, {}, [1]]) {
      expect(parseIndex(indexText(writeIndex({ ...WHOLE, [key]: wrong })))).toBeUndefined();
    }
  },
);

it.each([
  ['revision', 1.5],
  ['revision', -1],
  ['epoch', '7'],
  ['updateMode', 'required'],
])('a %s of %j is refused', (key, wrong) => {
  expect(
    parseIndex(indexText(writeIndex({ ...WHOLE, [key]: wrong } as typeof WHOLE))),
  ).toBeUndefined();
});

it.each(['', 'null', '{}', '{}\n', 'null\n', JSON.stringify(WHOLE)])('%j is no index', (text) => {
  expect(parseIndex(text)).toBeUndefined();
});

it.each([
  ...[' ', 'a  b', '../up', '..', '.hidden', 'a/b', 'ä', '*', 'a**', '~', 'a*~', 'a~~'],
  'x'.repeat(65),
])('entries of %j are refused: an edition is a name that any store can have', (text) => {
  expect(parseEntries(text)).toBeUndefined();
});

it('indexes are ordered by epoch, revision, and the number of offered releases', () => {
  const texts = [
    { ...WHOLE, epoch: 2, revision: 99 },
    { ...WHOLE, revision: 11 },
    { ...WHOLE, releases: [{ ...OFFERED, offered: false }, NEW] },
    WHOLE,
    { ...WHOLE, revision: 13, releases: [] },
  ].map((each) => indexText(writeIndex(each)));
  const shuffled = [3, 0, 4, 2, 1].map((index) => indexOf(texts[index] ?? ''));
  expect(shuffled.sort(compareIndexes)).toEqual(texts.map(indexOf));
});
