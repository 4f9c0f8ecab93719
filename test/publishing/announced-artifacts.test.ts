// Tests what becomes of the files of an announced release, and what is said of those that are left out
// (docs/contract.md 18.10).

import { describe, expect, it } from 'vitest';
import { announcedArtifacts } from '../../src/publishing/announced-artifacts.ts';

const HOST = 'https://dl.example.com/';

function announce(names: readonly string[], isUploaded: (name: string) => boolean = () => true) {
  return announcedArtifacts(
    names.map((name) => ({
      ...{ name, url: HOST + encodeURIComponent(name), isUploaded: isUploaded(name) },
      ...{ size: undefined, digest: undefined, createdAt: undefined },
    })),
  );
}

describe('announcedArtifacts', () => {
  it('names what is left out, and what is not there yet', () => {
    const names = ['a-linux-x64.zip', 'a-linux-x64.zip.dgst', 'SHA256SUMS', 'a-win-x64.zip'];
    const { artifacts, remarks } = announce(names, (name) => name !== 'a-win-x64.zip');
    expect(artifacts).toEqual([
      { platform: 'linux', arch: 'x86_64', url: `${HOST}a-linux-x64.zip` },
    ]);
    expect(remarks).toEqual([
      'Not uploaded: a-win-x64.zip',
      'Left out, since no device installs them: a-linux-x64.zip.dgst, SHA256SUMS',
    ]);
    expect(announce(['a-linux-arm64.zip', 'a-linux.zip', 'a-mac.dmg']).remarks).toEqual([]);
  });

  it('keeps the first 200 artifacts, and says that it did (§18.7)', () => {
    const names = Array.from({ length: 210 }, (_, index) => `a${index}-linux-amd64`);
    const { artifacts, remarks } = announce(names);
    expect(artifacts.map(({ url }) => url)).toEqual(names.slice(0, 200).map((name) => HOST + name));
    expect(remarks).toEqual(['10 assets beyond the first 200 were left out']);
  });

  it('lists 50 names of 100 characters at most, whatever they contain', () => {
    const names = Array.from(
      { length: 60 },
      (_, index) => `${'\u{1f389}\u0000'.repeat(99)}${index}`,
    );
    const [remark = ''] = announce(names).remarks;
    expect(remark).toMatch(/, and 10 more$/);
    expect(remark.length).toBeLessThan(50 * 102 + 100);
    expect(remark.isWellFormed() && !remark.includes('\u0000')).toBe(true);
  });
});
