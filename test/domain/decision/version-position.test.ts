// Tests the position of versions among landmarks against a linear look at every landmark.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareVersions } from '../../../src/domain/decision/version.ts';
import {
  collectLandmarks,
  versionPosition,
} from '../../../src/domain/decision/version-position.ts';
import { catalog, release, targeting, version } from '../sample.ts';

const TEXTS = [
  '0.1',
  '1.0.0-rc',
  '1.0.0',
  '1.0.0+1',
  '1.0.0.1',
  '1.2',
  '2',
  '99999999999999999999',
];
const anyVersion = fc.constantFrom(...TEXTS).map(version);

it('two versions stand alike exactly when every landmark compares the same with both', () => {
  fc.assert(
    fc.property(fc.array(anyVersion), anyVersion, anyVersion, (named, left, right) => {
      const releases = named.map((each) => ({ version: each, requirements: [] }));
      const landmarks = collectLandmarks(releases, undefined);
      const isSame = named.every(
        (each) =>
          Math.sign(compareVersions(each, left)) === Math.sign(compareVersions(each, right)),
      );
      expect(versionPosition(landmarks, left) === versionPosition(landmarks, right)).toBe(isSame);
    }),
  );
});

describe('the landmarks of a catalog', () => {
  it('are its releases of any status, its minimum and what its targeting compares with', () => {
    const range = { key: '$version', operator: 'VersionGte' as const, values: ['0.8'] };
    const exact = { key: '$version', operator: 'In' as const, values: ['v0.9', '1.0', 'nightly'] };
    const label = { key: 'tier', operator: 'In' as const, values: ['7.0.0'] };
    const targets = targeting({ matchExpressions: [range, exact, label] });
    const { landmarks } = catalog(
      [release('1.0.0', { targets }), release('2.0.0', { status: 'rolled_back' })],
      { minimumSupportedVersion: '0.5' },
    );
    const canonical = landmarks.map((each) => each.canonical);
    expect(canonical).toEqual(['2.0.0', '1.0.0', '0.9.0', '0.8.0', '0.5.0']);
  });

  it('leave no version at all a place of its own', () => {
    expect(versionPosition([], undefined)).not.toBe(versionPosition([], version('1.0.0')));
  });
});
