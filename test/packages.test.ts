// Tests what `npm ci` installs: nothing that has to be compiled, nothing without an integrity hash.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

type LockedPackage = {
  readonly link?: boolean;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly hasInstallScript?: boolean;
};

/**
 * Packages whose install script need not run: esbuild's only replaces a launcher, and esbuild works without.
 */
const SCRIPTS_NOT_NEEDED = ['node_modules/esbuild'];

const { packages } = JSON.parse(
  readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'),
) as { packages: Record<string, LockedPackage> };

const installed = Object.entries(packages).filter(
  ([path, { link }]) => path !== '' && link !== true,
);

function pathsWhere(test: (each: LockedPackage) => boolean): string[] {
  return installed.filter(([, each]) => test(each)).map(([path]) => path);
}

describe('every package of the lockfile', () => {
  it('is pinned to its content by a SHA-512', () => {
    expect(installed.length).toBeGreaterThan(100);
    expect(pathsWhere(({ integrity }) => integrity?.startsWith('sha512-') !== true)).toEqual([]);
  });

  it('names no address it was downloaded from, so that every registry will do', () => {
    expect(pathsWhere(({ resolved }) => resolved !== undefined)).toEqual([]);
  });

  it('installs without a script, so that a machine without a compiler can install it', () => {
    const paths = pathsWhere(({ hasInstallScript }) => hasInstallScript === true);
    expect(paths.filter((path) => !SCRIPTS_NOT_NEEDED.includes(path))).toEqual([]);
  });
});

describe('the native binaries of uWebSockets.js', () => {
  it('are those that docs/decisions/0001 lists, for Node 20 and 22', () => {
    const record = new URL('../docs/decisions/0001-uws-pack-alias.md', import.meta.url);
    const listed = [...readFileSync(record, 'utf8').matchAll(/^\| `(\w+\.node)` \| `(\w+)` \|$/gm)];
    const folder = new URL('../node_modules/uWebSockets.js/dist/bin/', import.meta.url);
    const found = readdirSync(folder)
      .filter((name) => /_(?:115|127)\.node$/.test(name))
      .sort()
      .map((name) => {
        const binary = readFileSync(new URL(name, folder));
        return [name, createHash('sha256').update(binary).digest('hex')];
      });
    expect(listed.map(([, name, hash]) => [name, hash])).toEqual(found);
    expect(found).toHaveLength(12);
  });
});
