// Tests the content of a compiled catalog: candidates per platform and arch, and what is kept of them. Order
// and status of releases are tested in decide-naively.test.ts.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Artifact } from '../../../src/contract/resource.ts';
import { foldPlatform, selectArtifact } from '../../../src/domain/decision/artifact/artifact.ts';
import { foldArch } from '../../../src/domain/decision/artifact/fold-arch.ts';
import {
  candidatesBy,
  candidatesFor,
  candidatesWhere,
  countAbove,
  countAtOrAbove,
} from '../../../src/domain/decision/catalog.ts';
import { compareVersions } from '../../../src/domain/decision/version.ts';
import { catalog, release, version } from '../sample.ts';

function artifactFor(platform: string, arch?: string): Artifact {
  const url = `https://dl.example.com/${platform}/${arch ?? 'any'}`;
  return arch === undefined ? { platform, url } : { platform, arch, url };
}

describe('releases', () => {
  it('one whose stored version is none is left out; the others are served', () => {
    const built = catalog([release('1.0.0'), release('not a version')]);
    expect(built.published).toHaveLength(1);
    expect(built.byCanonical.size).toBe(1);
  });

  it('a kind that has the name of an updater shares no list with it', () => {
    const artifacts = ['velopack', 'nupkg'].map((format) => {
      return { platform: 'windows', url: `https://dl.example.com/a.${format}`, format };
    });
    const listsIn = (order: readonly ('kind' | 'updater')[]) => {
      const built = catalog([release('1.0.0', { artifacts })]);
      const listed = order.map((asks) => {
        const installable = { kind: 'velopack', mustBeSigned: false };
        const list =
          asks === 'kind'
            ? candidatesFor(built, 'windows', '', installable)
            : candidatesWhere(built, 'velopack', 'windows', '', ({ format }) => format === 'nupkg');
        return [asks, list[0]?.artifact.format];
      });
      return Object.fromEntries(listed);
    };
    const own = { kind: 'velopack', updater: 'nupkg' };
    expect(listsIn(['kind', 'updater'])).toEqual(own);
    expect(listsIn(['updater', 'kind'])).toEqual(own);
  });

  it('the minimum supported version is parsed once; none, or an unreadable one, is undefined', () => {
    expect(catalog([], { minimumSupportedVersion: 'v2' }).minimum?.canonical).toBe('2.0.0');
    expect(catalog([]).minimum).toBeUndefined();
    expect(catalog([], { minimumSupportedVersion: 'soon' }).minimum).toBeUndefined();
  });
});

describe('candidates: the published releases that have an artifact for the platform and arch', () => {
  it('strangers cannot grow the memo: unknown archs share one list, unknown platforms the empty one', () => {
    const built = catalog([
      release('1.0.0', { artifacts: [artifactFor('linux'), artifactFor('linux', 'x64')] }),
    ]);
    const first = candidatesFor(built, 'linux', 'arch-0');
    for (let index = 1; index < 100; index++) {
      expect(candidatesFor(built, 'linux', `arch-${index}`)).toBe(first);
      expect(candidatesFor(built, `platform-${index}`, 'x86_64')).toEqual([]);
    }
    candidatesFor(built, 'linux', '');
    candidatesFor(built, 'linux', 'x86_64');
    expect(built.candidates.size).toBe(3);
    expect(first.map(({ artifact }) => artifact.url)).toEqual(['https://dl.example.com/linux/any']);
  });

  it('a catalog keeps a thousand lists: those beyond are made anew, and are the same', () => {
    const built = catalog([release('1.0.0'), release('2.0.0', { status: 'paused' })]);
    const ask = (key: string) => candidatesBy(built, key, (each) => ({ release: each }));
    for (let index = 0; index < 3000; index++) expect(ask(`key ${index}`)).toHaveLength(1);
    expect(built.candidates.size).toBe(1000);
    expect(ask('key 999')).toBe(ask('key 999'));
    expect(ask('key 1000')).not.toBe(ask('key 1000'));
    expect(ask('key 1000')).toEqual(ask('key 999'));
  });

  it('are what looking at every release gives, for any artifacts and in any order of asking', () => {
    const anyName = fc.constantFrom('linux', 'macos', 'darwin', 'a', 'a/b', '*', '__proto__');
    const anyArch = fc.constantFrom(undefined, 'x64', 'amd64', 'universal', 'b/c', 'c', '*', '/');
    const anyRelease = fc.array(
      fc.tuple(anyName, anyArch).map((pair) => artifactFor(...pair)),
      { maxLength: 4 },
    );
    fc.assert(
      fc.property(
        fc.array(anyRelease, { maxLength: 4 }),
        fc.array(fc.tuple(anyName, anyArch), { minLength: 1, maxLength: 12 }),
        (artifacts, questions) => {
          const built = catalog(artifacts.map((each, at) => release(`${at}`, { artifacts: each })));
          for (const [platform, arch] of questions) {
            const folded = foldPlatform(platform);
            const foldedArch = foldArch(arch, folded);
            const expected = built.published
              .map((each) => selectArtifact(each.artifacts, folded, foldedArch))
              .filter((artifact) => artifact !== undefined);
            const actual = candidatesFor(built, folded, foldedArch);
            expect(actual.map(({ artifact }) => artifact)).toEqual(expected);
          }
        },
      ),
    );
  });
});

describe('binary search', () => {
  it('counts what a plain look at every release counts', () => {
    const anyText = fc.constantFrom(
      ...['0.9', '1.0.0-rc', '1.0', '1.0.0+1', '1.0.0.1', '1.1', '2', '3.0.0-a', '3', '4'],
    );
    fc.assert(
      fc.property(fc.uniqueArray(anyText), anyText, (texts, asked) => {
        const { published } = catalog(texts.map((text) => release(text)));
        const list = published.map((each) => ({ release: each }));
        const bound = version(asked);
        const orders = published.map((each) => compareVersions(each.version, bound));
        expect(countAbove(list, bound)).toBe(orders.filter((order) => order > 0).length);
        expect(countAtOrAbove(list, bound)).toBe(orders.filter((order) => order >= 0).length);
      }),
    );
  });
});
