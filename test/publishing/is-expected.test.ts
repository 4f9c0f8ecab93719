// Tests for which files a held release waits (docs/contract.md 18.19), above all that it does not publish
// itself for a file of which nobody knows what it is for.

import { describe, expect, it } from 'vitest';
import { classifyAssets } from '../../src/domain/release/asset/classify-assets.ts';
import { isExpected } from '../../src/publishing/receive-release.ts';

function isSatisfied(targets: readonly string[], names: readonly string[]): boolean {
  const found = classifyAssets(names);
  const artifacts = names.flatMap((name, index) => {
    const target = found[index];
    return target === undefined ? [] : [{ ...target, url: `https://dl.example.com/${name}` }];
  });
  return isExpected(targets, artifacts);
}

describe('isExpected', () => {
  it.each<[string, readonly string[], readonly string[], boolean]>([
    ['the platform', ['linux'], ['tool-linux-quux.zip'], true],
    ['the architecture', ['linux/amd64'], ['tool-linux-x86_64.zip'], true],
    ['the platform of one architecture', ['darwin'], ['Notes_aarch64.dmg'], true],
    ['the platform in another spelling', ['macos/arm64'], ['Notes.dmg'], true],
    ['another architecture', ['linux/x86_64'], ['tool-linux-32.zip'], false],
    ['one that cannot be read', ['linux/x86_64'], ['tool-linux-quux.zip'], false],
    ['universal', ['darwin/arm64', 'darwin/x64'], ['tool-macos-universal.zip'], true],
    ['none, and nothing names one', ['linux/x86_64', 'linux/arm64'], ['tool-linux.zip'], true],
    ['none beside another format', ['linux/x86_64'], ['a-linux.zip', 'b_1.0_arm64.deb'], false],
    [
      'none, which is the most common one',
      ['linux/x64'],
      ['a-linux.zip', 'a-linux-arm64.zip'],
      true,
    ],
    ['that one is for no other', ['linux/i386'], ['a-linux.zip', 'a-linux-arm64.zip'], false],
    ['none of a program for all', ['linux/x64'], ['a-linux.jar', 'a_1.0_arm64.deb'], true],
    ['a checksum', ['linux/x86_64'], ['tool-linux-x86_64.zip.dgst'], false],
  ])('%s', (_what, targets, names, expected) => {
    expect(isSatisfied(targets, names)).toBe(expected);
  });
});
