// Tests what is found in the files of a channel that answers DDI clients (docs/contract.md 34.22): a row for
// each rule.

import { expect, it } from 'vitest';
import type { Artifact } from '../../../../src/contract/resource.ts';
import { ddiFindings } from '../../../../src/domain/release/finding/ddi-findings.ts';
import { examineArtifact } from '../../../../src/domain/release/finding/examined-release.ts';
import { artifacts, at } from '../../../support/released.ts';

const [GOOD = { platform: 'linux' }] = artifacts('linux gateway.swu');

function found(artifact: Artifact, hasDdi = true): readonly string[] {
  return ddiFindings(hasDdi, [artifact].map(examineArtifact)).map(
    ({ path, severity }) => `${severity} ${path}`,
  );
}

function without(field: keyof Artifact): Artifact {
  const { [field]: _, ...rest } = GOOD;
  return rest as Artifact;
}

it.each<[what: string, Artifact, ...expected: readonly string[]]>([
  ['nothing is missing', GOOD],
  ['no SHA-1', without('sha1'), 'sha1'],
  ['no size', without('size'), 'size'],
  ['a size of 0', { ...GOOD, size: 0 }, 'size'],
  ['no SHA-256', without('sha256'), 'sha256'],
  ['no address, which is an error by itself', { ...without('url'), format: 'swu' }],
  ['a name that no client takes', { ...GOOD, url: at('a%22.swu') }, 'url'],
  ['an address without a name', { ...GOOD, url: at(''), format: 'tar.gz' }, 'url'],
  ['an image named otherwise', { ...GOOD, url: at('image'), format: 'swu' }, 'url'],
  ['an image named in capitals', { ...GOOD, url: at('IMAGE.SWU') }, 'url'],
  ['an image whose name is an ending', { ...GOOD, url: at('.swu') }, 'url'],
  ['a bundle named otherwise', { ...GOOD, url: at('image'), format: 'raucb' }],
  ['all at once', { platform: 'linux', url: at('a%27.zip') }, 'sha1', 'size', 'url', 'sha256'],
  [
    'all of it in a format that these clients do not install',
    { platform: 'linux', url: at('a.deb') },
  ],
])('%s (§34.22)', (_what, artifact, ...expected) => {
  expect(found(artifact)).toEqual(expected.map((field) => `warning artifacts.0.${field}`));
  expect(found(artifact, false)).toEqual([]);
});
