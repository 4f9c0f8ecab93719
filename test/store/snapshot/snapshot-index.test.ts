// Tests the index of a snapshot, and the text of a release: each is read as it was written, and nothing else
// is taken for one.

import { expect, it } from 'vitest';
import { DDI_DEFAULTS } from '../../../src/contract/resource.ts';
import {
  compareIndexes,
  indexText,
  parseEntries,
  parseIndex,
  parseReleaseText,
  releaseText,
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
  ddi: DDI_DEFAULTS,
  ddiAuth: 'token',
});
/** Fields that the index of an earlier version lacks. */
const NEW_KEYS = ['ddi', 'ddiAuth'];

function indexOf(text: string): SnapshotIndex {
  const index = parseIndex(text);
  if (index === undefined) throw new Error('malformed');
  return index;
}

it.each([
  [false, 'first* second'],
  [true, 'first~* second~'],
])(
  'an index is read as it was written; releases of a followed channel: %s',
  (followed, entries) => {
    const releases = [OFFERED, NEW].map((each) => ({ ...each, followed }));
    const head = { ...WHOLE, follows: followed ? 'base' : null };
    const { releases: _, ...read } = head;
    expect(parseIndex(indexText(writeIndex({ ...head, releases })))).toEqual({
      head: read,
      entries,
    });
    expect(parseEntries(entries)).toEqual([
      { edition: 'first', isOffered: true, isFollowed: followed },
      { edition: 'second', isOffered: false, isFollowed: followed },
    ]);
  },
);

it('a channel without releases has an index', () => {
  expect(parseIndex(indexText(writeIndex({ ...WHOLE, releases: [] })))?.entries).toBe('');
  expect(parseEntries('')).toEqual([]);
});

it.each(Object.keys(WHOLE).filter((key) => key !== 'releases'))(
  'without %s, or with one of another type, it is refused',
  (key) => {
    for (const wrong of NEW_KEYS.includes(key) ? [{}, [1]] : [undefined, {}, [1]]) {
      expect(parseIndex(indexText(writeIndex({ ...WHOLE, [key]: wrong })))).toBeUndefined();
    }
  },
);

it('an index of an earlier version, which has no DDI, is read as one without (§34.49)', () => {
  const earlier = { ...WHOLE, ddi: undefined, ddiAuth: undefined } as unknown as typeof WHOLE;
  const read = parseIndex(indexText(writeIndex(earlier)));
  expect(read?.head).toMatchObject({ revision: 12, ddi: null, ddiAuth: null });
});

it.each([
  ['ddiAuth', 'tokens'],
  ['ddi', { ...DDI_DEFAULTS, retries: '2' }],
  ['ddi', { ...DDI_DEFAULTS, keys: { ...DDI_DEFAULTS.keys, version: 1 } }],
  ['ddi', { ...DDI_DEFAULTS, unknownVersion: 'ask' }],
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

const {
  offered: _,
  followed: __,
  ...TEXT
} = release('1.0.0', {
  notes: 'Größer 🚀 "quoted" \\ \u0000 \n',
  targets: {
    matchLabels: { ring: ['beta'], site: ['north', 'south'] },
    matchExpressions: [{ key: 'os', operator: 'In', values: ['linux'] }],
  },
  artifacts: [
    { platform: 'linux', arch: 'x86_64', url: 'https://a.example/a', size: 5, sha256: 'ab' },
    { platform: 'darwin' },
  ],
});

it('a release is read as it was written, whether it was offered, or followed, or not', () => {
  for (const offered of [true, false]) {
    const text = releaseText({ ...TEXT, offered, followed: !offered });
    expect(parseReleaseText(text, TEXT.edition)).toEqual(TEXT);
    expect(parseReleaseText(text, 'another')).toBeUndefined();
  }
});

/** Lists the path of every property below a value. */
function pathsOf(value: unknown): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    [key],
    ...pathsOf(inner).map((rest) => [key, ...rest]),
  ]);
}

/** Parses a copy in which the property at the path is another, or is missing. */
function parseChanged(path: readonly string[], replacement: unknown) {
  const copy = structuredClone(TEXT) as unknown as Record<string, unknown>;
  const last = path.at(-1) ?? '';
  let owner = copy;
  for (const key of path.slice(0, -1)) owner = owner[key] as Record<string, unknown>;
  if (replacement === undefined) delete owner[last];
  else owner[last] = replacement;
  return parseReleaseText(JSON.stringify(copy), TEXT.edition);
}

it.each(pathsOf(TEXT).map((path) => [path.join('.'), path] as const))(
  'a %s of another type is refused',
  (_name, path) => {
    for (const wrong of [-1, { a: [1] }, [[]]]) expect(parseChanged(path, wrong)).toBeUndefined();
  },
);

it.each([
  ...['id', 'edition', 'version', 'notes', 'status', 'rolloutPct', 'targets', 'createdAt'],
  ...['targets.matchLabels', 'targets.matchExpressions', 'targets.matchExpressions.0.operator'],
  ...['artifacts', 'artifacts.0.platform'],
])('without %s, or with one out of its range, it is refused', (name) => {
  const wrong = new Map<string, unknown>([
    ['rolloutPct', 1.5],
    ['status', 'gone'],
  ]).get(name);
  for (const each of [undefined, wrong])
    expect(parseChanged(name.split('.'), each)).toBeUndefined();
  const near = parseChanged(['targets', 'matchExpressions', '0', 'operator'], 'Near');
  expect(near).toBeUndefined();
});

it.each(['', 'null', '[]', '{}', '{'])('%j is no release', (text) => {
  expect(parseReleaseText(text, TEXT.edition)).toBeUndefined();
});
