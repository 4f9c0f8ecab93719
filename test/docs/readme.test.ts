// Tests that the README stays short and leads to every document.

import { describe, expect, it } from 'vitest';
import { ELECTRON_FOR_ARCH } from '../../src/updater/electron.ts';
import { MANIFEST } from '../../src/updater/manifest.ts';
import { sparkle } from '../../src/updater/sparkle.ts';
import { SQUIRREL_MAC } from '../../src/updater/squirrel-mac.ts';
import { VELOPACK } from '../../src/updater/velopack.ts';
import { listDocuments, readDocument, sectionOf } from './document.ts';

/** With the address for each updater of desktop apps, which are what most readers come with. */
const LINES_MAX = 220;
const COLUMNS_MAX = 120;

const { text } = readDocument('README.md');
const lines = text.trimEnd().split('\n');
const { path: SPARKLE_PATH } = sparkle({
  ready: () => undefined,
  document: () => Buffer.alloc(0),
});
/** Updaters of desktop apps, each with what its client appends to the address of its block. */
const UPDATERS: readonly (readonly [string, string, string])[] = [
  ['Tauri', MANIFEST.path, ''],
  ['electron-updater', ELECTRON_FOR_ARCH.path, '/latest.yml'],
  ['update-electron-app', SQUIRREL_MAC.path, '/notes/stable/darwin-arm64/1.0.0'],
  ['Velopack', VELOPACK.path, '/releases.win.json'],
  ['Sparkle', SPARKLE_PATH, ''],
];

describe('the README', () => {
  it(`has at most ${LINES_MAX} lines of at most ${COLUMNS_MAX} columns`, () => {
    expect(lines.length).toBeLessThanOrEqual(LINES_MAX);
    expect(lines.filter((line) => [...line].length > COLUMNS_MAX)).toEqual([]);
  });

  it.each(['npm ci && npm start', 'npm ci && npm test'])('has the command `%s`', (command) => {
    expect(lines).toContain(`    ${command}`);
  });

  it('has one address for each updater of desktop apps, which is one of the service', () => {
    const section = sectionOf(readDocument('README.md'), 'Desktop apps');
    const addresses = [...section.matchAll(/https:\/\/updates\.example\.com([^\s"'<?]+)/g)];
    expect(addresses).toHaveLength(UPDATERS.length);
    for (const [index, [name, pattern, appended]] of UPDATERS.entries()) {
      const asked = `${addresses[index]?.[1]}${appended}`;
      const form = pattern.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+');
      expect(asked, name).toMatch(new RegExp(`^${form}$`));
    }
  });

  it('leads to every document', () => {
    const others = listDocuments().filter(({ path }) => path !== 'README.md');
    const single = others.filter(
      ({ path }) => !/^docs\/(?:decisions\/\d|operating\/[a-z])/.test(path),
    );
    const missing = single.filter(({ path }) => !text.includes(`](${path})`));
    expect(missing.map(({ path }) => path)).toEqual([]);
  });
});

describe('every document', () => {
  it('names the package of the command by the present version', () => {
    const { version } = JSON.parse(readDocument('package.json').text) as { version: string };
    const named = listDocuments().flatMap((document) =>
      [...document.text.matchAll(/sluice-cli-(\d[\d.]*\d)\.tgz/g)].map(([, told]) => told),
    );
    expect(new Set(named)).toEqual(new Set([version]));
  });

  it('packs the command into a folder that git ignores', () => {
    const packed = listDocuments().flatMap(({ text }) =>
      [...text.matchAll(/npm pack \.\/dist\/cli-package\s*(\S* \w+)/g)].map(([, to]) => to),
    );
    expect(packed.length).toBeGreaterThan(1);
    expect(new Set(packed)).toEqual(new Set(['--pack-destination dist']));
    expect(readDocument('.gitignore').text.split('\n')).toContain('dist/');
  });

  it.each(listDocuments())(`$path has prose of at most ${COLUMNS_MAX} columns`, (document) => {
    // Tables and code cannot be wrapped.
    const prose = document.text.replace(/^ *```.*?^ *```$/gms, '').split('\n');
    const wrapped = prose.filter((line) => !/^(?:\||\s{4}|!\[)/.test(line));
    expect(wrapped.filter((line) => [...line].length > COLUMNS_MAX)).toEqual([]);
  });
});
