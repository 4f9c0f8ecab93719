// Tests which files are found below the arguments of the command that publishes, and the bounds of the search
// (docs/operating/commands.md).

import { symlinkSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, it } from 'vitest';
import { filesOfBuild } from '../../../src/cli/build/build-files.ts';
import { BuildFolder } from '../../support/build-folder.ts';

const folder = new BuildFolder();

function write(...names: readonly string[]): void {
  for (const name of names) folder.write(name);
}

/** Returns the files, and what was passed over, below the folder of the test. */
function found(...paths: readonly string[]) {
  const { files, passedOver } = filesOfBuild(paths.map((path) => join(folder.path, path)));
  return {
    files: files.map(({ path }) => relative(folder.path, path)),
    passedOver: passedOver.map(({ file, reason }) => `${relative(folder.path, file)}: ${reason}`),
  };
}

it('a file is found below four folders, and none below five (Command line)', () => {
  write('out/1/2/3/4/a.zip', 'out/1/2/3/4/5/b.zip');
  expect(found('out')).toEqual({
    files: ['out/1/2/3/4/a.zip'],
    passedOver: ['out/1/2/3/4/5: below more than 4 folders'],
  });
});

it('links are followed where they are arguments, and nowhere else (Command line)', () => {
  write('real/a.zip', 'out/b.zip');
  symlinkSync(join(folder.path, 'real'), join(folder.path, 'linked'));
  symlinkSync(join(folder.path, 'real'), join(folder.path, 'out/c'));
  symlinkSync(join(folder.path, 'out'), join(folder.path, 'out/d'));
  expect(found('linked', 'out')).toEqual({
    files: ['linked/a.zip', 'out/b.zip'],
    passedOver: ['out/c: a symbolic link', 'out/d: a symbolic link'],
  });
});

it('a file that several arguments lead to is found once (Command line)', () => {
  write('out/a.zip', 'out/win-unpacked/b.exe');
  expect(found('out/a.zip', 'out/win-unpacked', 'out')).toEqual({
    files: ['out/a.zip'],
    passedOver: ['out/win-unpacked: an app that is not packed'],
  });
});

it('a folder is an app by what is in it, whatever its name is, and counts as one (Command line)', () => {
  const parts = Array.from({ length: 1100 }, (_, index) => `out/app/${index}.pak`);
  write('out/app/icudtl.dat', 'out/a.zip', ...parts);
  expect(found('out')).toEqual({
    files: ['out/a.zip'],
    passedOver: ['out/app: an app that is not packed'],
  });
});

it('the search ends beyond 1,000 files and folders of all arguments (Command line)', () => {
  const names = (root: string) => Array.from({ length: 500 }, (_, index) => `${root}/${index}`);
  write(...names('a'), ...names('b'));
  expect(found('a', 'b').files).toHaveLength(1000);
  write('c/more');
  expect(() => found('a', 'b', 'c')).toThrow(/more than 1000 files and folders/);
});
