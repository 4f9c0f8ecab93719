// Tests the order in which lists show versions.

import { expect, it } from 'vitest';
import { byVersion } from '../../../src/domain/decision/version.ts';

it('counts numbers as numbers, and puts a prerelease below its release', () => {
  const versions = ['1.10.0', '1.9.0', '1.10.0-rc.1', '1.10.0-rc.10', '1.10.0-rc.2'];
  expect(byVersion(versions, (version) => version)).toEqual([
    '1.10.0',
    '1.10.0-rc.10',
    '1.10.0-rc.2',
    '1.10.0-rc.1',
    '1.9.0',
  ]);
});

it('puts what is no version last, in the order given', () => {
  const items = [{ name: 'nightly' }, { name: '1.0.0' }, { name: '' }, { name: '2.0.0' }];
  expect(byVersion(items, ({ name }) => name).map(({ name }) => name)).toEqual([
    '2.0.0',
    '1.0.0',
    'nightly',
    '',
  ]);
});
