// Tests that only a whole snapshot is recognised as one.

import { expect, it } from 'vitest';
import { parseSnapshot } from '../../src/domain/decision/parse-snapshot.ts';
import { release, snapshot } from './sample.ts';

const WHOLE = snapshot([
  release('1.0.0', {
    offered: true,
    targets: {
      matchLabels: { ring: ['beta'] },
      matchExpressions: [{ key: 'os', operator: 'In', values: ['linux'] }],
    },
    artifacts: [
      { platform: 'linux', arch: 'x86_64', url: 'https://a.example/a', size: 5, sha256: 'ab' },
      { platform: 'darwin' },
    ],
  }),
  release('1.1.0', { status: 'paused', notes: '', artifacts: [] }),
]);

it('a snapshot that was written as JSON is read as the same snapshot', () => {
  expect(parseSnapshot(JSON.parse(JSON.stringify(WHOLE)))).toEqual(WHOLE);
  const minimum = { ...WHOLE, minimumSupportedVersion: '1.0.0' };
  expect(parseSnapshot(minimum)).toEqual(minimum);
});

/** Lists the path of every property below a value. */
function pathsOf(value: unknown): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    [key],
    ...pathsOf(inner).map((rest) => [key, ...rest]),
  ]);
}

/** Returns a copy in which the property at the path is another, or is missing. */
function changed(path: readonly string[], replacement: unknown): unknown {
  const copy = structuredClone(WHOLE) as unknown as Record<string, unknown>;
  const last = path.at(-1) ?? '';
  let owner = copy;
  for (const key of path.slice(0, -1)) owner = owner[key] as Record<string, unknown>;
  if (replacement === undefined) delete owner[last];
  else owner[last] = replacement;
  return copy;
}

it.each(pathsOf(WHOLE).map((path) => [path.join('.'), path] as const))(
  'a %s of another type is refused',
  (_name, path) => {
    for (const wrong of [-1, { a: [1] }, [[]]]) {
      expect(parseSnapshot(changed(path, wrong))).toBeUndefined();
    }
  },
);

it.each([
  'appId',
  'appRef',
  'channelId',
  'channel',
  'revision',
  'updateMode',
  'minimumSupportedVersion',
  'releases',
  'releases.0.id',
  'releases.0.version',
  'releases.0.notes',
  'releases.0.status',
  'releases.0.rolloutPct',
  'releases.0.targets',
  'releases.0.targets.matchLabels',
  'releases.0.targets.matchExpressions',
  'releases.0.targets.matchExpressions.0.operator',
  'releases.0.offered',
  'releases.0.createdAt',
  'releases.0.artifacts',
  'releases.0.artifacts.0.platform',
])('without %s it is refused', (name) => {
  expect(parseSnapshot(changed(name.split('.'), undefined))).toBeUndefined();
});

it.each([
  ['revision', 1.5],
  ['revision', '7'],
  ['updateMode', 'required'],
  ['releases.0.status', 'gone'],
  ['releases.0.targets.matchExpressions.0.operator', 'Near'],
  ['releases', {}],
])('a %s of %j is refused', (name, wrong) => {
  expect(parseSnapshot(changed(name.split('.'), wrong))).toBeUndefined();
});

it.each([undefined, null, 1, 'text', [], {}])('%j is no snapshot', (value) => {
  expect(parseSnapshot(value)).toBeUndefined();
});
