// Tests which files are found below the arguments of the command that publishes, what their names tell of
// their version, and the bounds of the search (docs/operating/commands.md).

import { symlinkSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, it } from 'vitest';
import { filesOfBuild } from '../../../src/cli/build/build-files.ts';
import { earlierVersion } from '../../../src/cli/build/build-findings.ts';
import { BuildFolder } from '../../support/build-folder.ts';

const folder = new BuildFolder();

it.each<
  [what: string, files: readonly string[], links: Record<string, string>, ...lines: string[]]
>([
  [
    'files below four folders, and none below five',
    ['out/1/2/3/4/a.zip', 'out/1/2/3/4/5/b.zip'],
    {},
    ...['out', 'out/1/2/3/4/a.zip', 'out/1/2/3/4/5: below more than 4 folders'],
  ],
  [
    'links followed where they are arguments, and nowhere else',
    ['real/a.zip', 'out/b.zip'],
    { linked: 'real', 'out/c': 'real', 'out/d': 'out' },
    ...['linked out', 'linked/a.zip', 'out/b.zip', 'out/c: a symbolic link'],
    'out/d: a symbolic link',
  ],
  [
    'a file once that several arguments lead to',
    ['out/a.zip', 'out/win-unpacked/b.exe'],
    {},
    ...['out/a.zip out/win-unpacked out', 'out/a.zip'],
    'out/win-unpacked: an app that is not packed',
  ],
  [
    'a folder that is an app by what is in it, whatever its name is, as one',
    [
      'out/app/icudtl.dat',
      'out/a.zip',
      ...Array.from({ length: 1001 }, (_, at) => `out/app/${at}`),
    ],
    {},
    ...['out', 'out/a.zip', 'out/app: an app that is not packed'],
  ],
])('the search finds %s (Command line)', (_, files, links, paths = '', ...lines) => {
  for (const name of files) folder.write(name);
  for (const [name, to] of Object.entries(links)) {
    symlinkSync(join(folder.path, to), join(folder.path, name));
  }
  const found = filesOfBuild(paths.split(' ').map((path) => join(folder.path, path)));
  expect([
    ...found.files.map(({ path }) => relative(folder.path, path)),
    ...found.passedOver.map(({ file, reason }) => `${relative(folder.path, file)}: ${reason}`),
  ]).toEqual(lines);
});

it('the search ends beyond 1,000 files and folders of all arguments (Command line)', () => {
  for (let index = 0; index < 500; index++)
    for (const root of 'ab') folder.write(`${root}/${index}`);
  const paths = ['a', 'b'].map((name) => join(folder.path, name));
  expect(filesOfBuild(paths).files).toHaveLength(1000);
  folder.write('c/more');
  paths.push(join(folder.path, 'c'));
  expect(() => filesOfBuild(paths)).toThrow(/more than 1000 files and folders/);
});

it.each([
  ['App-1.3.0-full.nupkg', '1.4.0', '1.3.0'],
  ['App-1.4.0-full.nupkg', '1.4.0', undefined],
  ['App-1.3.0-full.nupkg', 'v1.4', '1.3.0'],
  ['App-1.3.0-other.zip', '1.4.0', undefined],
  ['App-1.4.0-java-17.0.9.zip', '1.4.0', undefined],
  ['App.zip', '1.4.0', undefined],
])('%s in a release of %s is of an earlier version: %s (Command line)', (name, version, told) => {
  const names = new Set([name, 'App-1.4.0-full.nupkg']);
  expect(earlierVersion(name, version, names)).toBe(told);
});
