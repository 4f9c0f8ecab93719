// Tests which releases DDI clients can take, and which file of each (docs/contract.md 34.21): what fits by
// itself is tested in test/domain/decision/artifact/ddi-artifact.test.ts.

import { expect, it } from 'vitest';
import { foldArch, NO_ARCH } from '../../src/domain/decision/artifact/fold-arch.ts';
import { ddiCandidates } from '../../src/updater/ddi-candidates.ts';
import { catalog, release } from '../domain/sample.ts';
import { artifacts } from '../support/released.ts';

const RELEASES = [
  release('1.0.0', { artifacts: artifacts('linux/arm64 1.swu, linux all.tar.gz') }),
  release('1.1.0', { artifacts: artifacts('linux/arm64 2.deb, linux/arm64 2.swu') }),
  release('1.2.0', { artifacts: artifacts('linux/arm64 3.raucb, linux/x64 3.zip') }),
  release('1.3.0', { artifacts: artifacts('linux/arm64 4.swu', { size: 0 }) }),
  release('1.4.0', { artifacts: artifacts('linux/arm64 5.deb'), status: 'paused' }),
];

it.each([
  ['linux', 'arm64', '', '3.raucb 2.swu 1.swu'],
  ['linux', 'arm64', 'swu', '2.swu 1.swu'],
  ['linux', 'arm64', 'raucb', '3.raucb'],
  ['linux', 'arm64', 'deb', ''],
  ['linux', 'arm64', 'unheard-of', ''],
  ['linux', 'x64', '', '3.zip all.tar.gz'],
  ['linux', undefined, '', 'all.tar.gz'],
  ['windows', 'x64', '', ''],
])('a device of %s, %s and the kind %j can take: %s (§34.21)', (platform, arch, kind, files) => {
  const folded = arch === undefined ? NO_ARCH : foldArch(arch, platform);
  const signed = { requireSignature: true };
  const served = catalog(RELEASES, signed);
  const list = ddiCandidates(served, { platform, arch: folded }, kind);
  const names = list.map(({ artifact }) => artifact.url?.split('/').at(-1));
  expect(names.join(' ')).toBe(files);
});

it('kinds that no artifact has add no lists to those that a channel keeps', () => {
  const served = catalog(RELEASES);
  for (let count = 0; count < 10; count++) {
    ddiCandidates(served, { platform: 'linux', arch: 'aarch64' }, `kind-${count}`);
  }
  expect(served.candidates.size).toBe(0);
});
