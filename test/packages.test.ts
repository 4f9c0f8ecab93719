// Tests what `npm ci` installs: nothing that has to be compiled, nothing without an integrity hash, nothing
// that asks for another Node or that its author has given up, and so nothing that `npm ci` would warn of.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import semver from 'semver';
import { describe, expect, it } from 'vitest';

type LockedPackage = {
  readonly link?: boolean;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly hasInstallScript?: boolean;
  readonly deprecated?: string;
  readonly optional?: boolean;
  readonly engines?: { readonly node?: string };
};

/**
 * Packages whose install script need not run: esbuild's only replaces a launcher, and esbuild works without.
 * Scarf's, which comes with Swagger UI, only reports the installation (decision 0049).
 */
const SCRIPTS_NOT_NEEDED = ['node_modules/@scarf/scarf', 'node_modules/esbuild'];

/** Lines of Node that the tests run on; between them, npm may warn. */
const LINES = '^20.19.0 || ^22.12.0 || ^24.0.0 || ^26.0.0';

/** Packages that ask for a later Node than they need: npm warns of these on Node 20 (docs/decisions/0001). */
const ENGINES_TOO_NARROW = ['node_modules/uWebSockets.js'];

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

const { engines, allowScripts, scarfSettings } = JSON.parse(read('package.json')) as {
  engines: { node: string };
  allowScripts: Record<string, boolean>;
  scarfSettings: { enabled: boolean };
};
const { packages } = JSON.parse(read('package-lock.json')) as {
  packages: Record<string, LockedPackage>;
};

const installed = Object.entries(packages).filter(
  ([path, { link }]) => path !== '' && link !== true,
);

function pathsWhere(test: (each: LockedPackage) => boolean): string[] {
  return installed.filter(([, each]) => test(each)).map(([path]) => path);
}

describe('every package of the lockfile', () => {
  it('is pinned by a SHA-512, names no address it was downloaded from, and is not deprecated', () => {
    expect(installed.length).toBeGreaterThan(100);
    expect(pathsWhere(({ integrity }) => integrity?.startsWith('sha512-') !== true)).toEqual([]);
    // Then every registry will do.
    expect(pathsWhere(({ resolved }) => resolved !== undefined)).toEqual([]);
    expect(pathsWhere(({ deprecated }) => deprecated !== undefined)).toEqual([]);
  });

  it('installs without a script, so that a machine without a compiler can install it', () => {
    const paths = pathsWhere(({ hasInstallScript }) => hasInstallScript === true);
    expect(paths).toEqual(SCRIPTS_NOT_NEEDED);
    // npm is told so, or it would warn that nobody has decided on them.
    expect(allowScripts).toEqual({ '@scarf/scarf': false, esbuild: false });
    // An older npm asks nobody: then the script itself is told to send nothing.
    expect(scarfSettings).toEqual({ enabled: false });
  });

  it('runs on every line of Node that the tests run on', () => {
    const narrower = pathsWhere(
      // npm leaves out optional packages that do not fit, without a word.
      (each) => each.optional !== true && !semver.subset(LINES, each.engines?.node ?? '*'),
    );
    expect(narrower).toEqual(ENGINES_TOO_NARROW);
    const tooNarrow = ENGINES_TOO_NARROW.map((path) => packages[path]?.engines?.node ?? '*');
    for (const asked of tooNarrow)
      expect(semver.subset('^22.12.0 || >=24', asked), asked).toBe(true);
  });
});

it('package.json names every Node from 20.19', () => {
  expect(engines.node).toBe('>=20.19');
  expect(semver.subset(LINES, engines.node)).toBe(true);
});

describe('the version', () => {
  it('is the same wherever it is written', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    expect(JSON.parse(read('package-lock.json'))).toMatchObject({ version });
    for (const [path, text] of [
      ['deploy/kubernetes/kustomization.yaml', `newTag: ${version}\n`],
      ['deploy/kubernetes-edge/kustomization.yaml', `newTag: ${version}\n`],
      ['docs/publishing.md', `sluice-cli-${version}.tgz`],
      ['examples/s3/publish.sh', `sluice-cli-${version}.tgz`],
      ['README.md', `sluice-cli-${version}.tgz`],
      ['SECURITY.md', `security fixes: ${version.split('.').slice(0, 2).join('.')}.`],
      ['docs/operating/upgrade.md', `git checkout v${version} `],
      ['docs/operating/upgrade.md', `sluice-${version}.tgz`],
      ['CHANGELOG.md', `\n## [${version}]`],
    ] as const) {
      expect(read(path), path).toContain(text);
    }
  });

  it('has a tag, as each one in the changelog; the commit of the newest is named once it is there', () => {
    const sections = read('CHANGELOG.md').split(/^## /m).slice(2);
    const versions = sections.map((section) => /^\[(\d+\.\d+\.\d+)\]/.exec(section)?.[1]);
    expect(versions).toEqual(
      [...versions].sort((one, other) => semver.rcompare(one ?? '', other ?? '')),
    );
    for (const [index, section] of sections.entries()) {
      const commit = index === 0 ? '(?:, commit `[0-9a-f]{8}`)?' : ', commit `[0-9a-f]{8}`';
      expect(section).toMatch(
        new RegExp(`^\\S+ - \\S+\n\nTag \`v${versions[index]}\`${commit}\\.`),
      );
    }
  });
});

it('the binaries of uWebSockets.js are those that docs/decisions/0001 lists, for Node 20 and 22', () => {
  const record = read('docs/decisions/0001-two-http-engines.md');
  const listed = [...record.matchAll(/^\| `(\w+\.node)` \| `(\w+)` \|$/gm)];
  const folder = new URL('../node_modules/uWebSockets.js/dist/bin/', import.meta.url);
  const names = readdirSync(folder).filter((name) => /_(?:115|127)\.node$/.test(name));
  const hashOf = (name: string) =>
    createHash('sha256')
      .update(readFileSync(new URL(name, folder)))
      .digest('hex');
  const found = names.sort().map((name) => [name, hashOf(name)]);
  expect(listed.map(([, name, hash]) => [name, hash])).toEqual(found);
  expect(found).toHaveLength(12);
});
