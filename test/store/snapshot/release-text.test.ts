// Tests that a release is read as it was written, and that nothing else is taken for one.

import { expect, it } from 'vitest';
import { parseReleaseText, releaseText } from '../../../src/store/snapshot/snapshot-index.ts';
import { release } from '../../domain/sample.ts';

const {
  offered: _,
  followed: __,
  ...WHOLE
} = release('1.0.0', {
  notes: 'Größer 🚀 "quoted" \\ \u0000 \n',
  targets: {
    matchLabels: { ring: ['beta'] },
    matchExpressions: [{ key: 'os', operator: 'In', values: ['linux'] }],
  },
  artifacts: [
    { platform: 'linux', arch: 'x86_64', url: 'https://a.example/a', size: 5, sha256: 'ab' },
    { platform: 'darwin' },
  ],
});

it('a release is read as it was written, whether it was offered, or followed, or not', () => {
  for (const offered of [true, false]) {
    const text = releaseText({ ...WHOLE, offered, followed: !offered });
    expect(parseReleaseText(text, WHOLE.edition)).toEqual(WHOLE);
  }
});

it('a release of another edition is refused', () => {
  expect(parseReleaseText(JSON.stringify(WHOLE), 'another')).toBeUndefined();
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
  const copy = structuredClone(WHOLE) as unknown as Record<string, unknown>;
  const last = path.at(-1) ?? '';
  let owner = copy;
  for (const key of path.slice(0, -1)) owner = owner[key] as Record<string, unknown>;
  if (replacement === undefined) delete owner[last];
  else owner[last] = replacement;
  return parseReleaseText(JSON.stringify(copy), WHOLE.edition);
}

it.each(pathsOf(WHOLE).map((path) => [path.join('.'), path] as const))(
  'a %s of another type is refused',
  (_name, path) => {
    for (const wrong of [-1, { a: [1] }, [[]]]) expect(parseChanged(path, wrong)).toBeUndefined();
  },
);

it.each([
  ...['id', 'edition', 'version', 'notes', 'status', 'rolloutPct', 'targets', 'createdAt'],
  ...['targets.matchLabels', 'targets.matchExpressions', 'targets.matchExpressions.0.operator'],
  ...['artifacts', 'artifacts.0.platform'],
])('without %s it is refused', (name) => {
  expect(parseChanged(name.split('.'), undefined)).toBeUndefined();
});

it.each([
  ['rolloutPct', 1.5],
  ['status', 'gone'],
  ['targets.matchExpressions.0.operator', 'Near'],
])('a %s of %j is refused', (name, wrong) => {
  expect(parseChanged(name.split('.'), wrong)).toBeUndefined();
});

it.each(['', 'null', '1', '"text"', '[]', '{}', '{'])('%j is no release', (text) => {
  expect(parseReleaseText(text, WHOLE.edition)).toBeUndefined();
});
