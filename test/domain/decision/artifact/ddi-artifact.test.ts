// Tests which artifacts fit clients of the Direct Device Integration API (docs/contract.md 34.21).

import { describe, expect, it } from 'vitest';
import type { Artifact } from '../../../../src/contract/resource.ts';
import { ddiArtifact } from '../../../../src/domain/decision/artifact/ddi-artifact.ts';
import { rowsOf } from '../../../support/rows-of.ts';

const SUMS = { sha1: 'ab'.repeat(20), sha256: 'cd'.repeat(32) };
const GATEWAY: Artifact & { readonly url: string } = {
  ...{ platform: 'linux', url: 'https://dl.example.com/gateway/1.2.3/gateway.swu', size: 7 },
  ...SUMS,
};

/** Returns the file name that clients are told for an address; undefined if they are offered nothing. */
function nameAt(path: string, format?: string): string | undefined {
  const url = `https://dl.example.com/${path}`;
  return ddiArtifact({ ...GATEWAY, url, ...(format === undefined ? {} : { format }) })?.fileName;
}

describe('an artifact for DDI clients (§34.21)', () => {
  it('has an address, a file name, a size and a SHA-1', () => {
    const { url } = GATEWAY;
    expect(ddiArtifact(GATEWAY)).toEqual({ url, fileName: 'gateway.swu', size: 7, ...SUMS });
    const { sha256: _, ...without } = GATEWAY;
    expect(ddiArtifact(without)?.sha256).toBeUndefined();
    for (const field of ['url', 'sha1', 'size'] as const) {
      const { [field]: __, ...lacking } = GATEWAY;
      expect(ddiArtifact(lacking as Artifact)).toBeUndefined();
    }
    expect([0, 1].map((size) => ddiArtifact({ ...GATEWAY, size })?.size)).toEqual([undefined, 1]);
  });

  it.each(
    rowsOf(`
    true: a.swu | a.SWU | a.raucb | a.tar.gz | a.tar.xz | a.tar.zst | a.zip | a | a.bin | a.img
    false: a.deb | a.rpm | a.AppImage | a.AppImage.tar.gz | a.app.tar.gz | a.exe | a-setup.exe | a.nsis.zip
    false: a.msi.zip | a.dmg | a.apk | a.nupkg | a.7z | a.snap
    `),
  )('by the format of its address: %s: %s', (name, fits) => {
    expect(String(nameAt(name) !== undefined)).toBe(fits);
  });

  it.each(
    rowsOf(`
    true: swu | SWU | raucb | tar.gz | tar.bz2 | zip | mender | our-own.1
    false: deb | exe | nsis | dmg | app.tar.gz | nupkg
    `),
  )('by the format of its publisher, whatever its name: %s: %s', (format, fits) => {
    expect(String(nameAt('a.swu', format) !== undefined)).toBe(fits);
  });

  it.each(
    rowsOf(`
    gateway 1.swu: x/gateway%201.swu?token=x#y | gateway 1.swu
    pärt.swu: p%C3%A4rt.swu | pärt.swu
    %zz.swu: %zz.swu
    ${'ä'.repeat(124)}.swu: ${'ä'.repeat(124)}.swu
    none: ${'a'.repeat(125)}.swu | x/ | x/.. | x/%2E%2e | a%2Fb.swu | a%5Cb.swu | a%22.swu | a'.swu | a%27.swu
    none: a%0A.swu | a%00.swu | a%C2%85.swu | a%7f.swu
    `),
  )('has a plain name of 1 to 128 characters: %s is %s', (path, name) => {
    expect(nameAt(path) ?? 'none').toBe(name);
  });
});
