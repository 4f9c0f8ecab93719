// Folder of a build, new for each test: writes its files, and reads them as the command that publishes does.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { FileContents } from '../../src/cli/build/file-contents.ts';
import { readBuild, readReleaseFiles } from '../../src/cli/build/release-files.ts';
import type { Folder } from './build-folders.ts';
import { removeFolder, temporaryFolder } from './server-process.ts';

export const addressOf = (name: string) => `https://dl.example.com/${encodeURIComponent(name)}`;

export class BuildFolder {
  path = '';

  constructor() {
    beforeEach(() => {
      this.path = temporaryFolder('sluice-build-');
    });
    afterEach(() => removeFolder(this.path));
  }

  /** Writes a file into the folder, with the folders on the way, and returns its path. */
  write(name: string, content: string | Buffer = `content of ${name}`): string {
    const path = join(this.path, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  }

  /** Writes files, and returns the paths of what is at their root. */
  lay(files: Folder): string[] {
    for (const [name, content] of Object.entries(files)) this.write(name, content);
    const roots = new Set(Object.keys(files).map((name) => name.split('/')[0] ?? ''));
    return [...roots].map((root) => join(this.path, root));
  }

  /** Writes files, and reads those below `paths` for the release of a version; by default all of them. */
  async read(files: Folder, version: string, paths?: readonly string[]) {
    const roots = this.lay(files);
    const build = await readBuild(paths ?? roots, version);
    const contents = new FileContents(() => undefined);
    const { taken, passedOver, findings } = await readReleaseFiles(build, addressOf, contents);
    const artifacts = taken.map(({ artifact }) => artifact);
    const reasons = passedOver.map(({ file, reason }) => [relative(this.path, file), reason]);
    return { artifacts, findings, passedOver: Object.fromEntries(reasons) as Folder };
  }
}
