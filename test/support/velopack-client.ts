// Runs the real client of Velopack, as the registry has it, for an app that is installed in a folder of its
// own. The newest client that older Linux systems can load is no dependency: it refuses newer versions of
// Node.js. `.ci/run` fetches it and tells its folder in SLUICE_VELOPACK.

import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { removeFolder, temporaryFolder } from './server-process.ts';

type VelopackUpdate = {
  readonly PackageId: string;
  readonly Version: string;
  readonly FileName: string;
  readonly NotesMarkdown: string;
};

export type VelopackAnswer = {
  /** The update that the client found; undefined when there is none. */
  readonly update: VelopackUpdate | undefined;
  /** Packages that it has downloaded, by their file names. */
  readonly packages: ReadonlyMap<string, string>;
};

/** Name that the app's package has. */
export const VELOPACK_APP = 'Notes';

const PROGRAM = fileURLToPath(new URL('velopack-program.mjs', import.meta.url));
const TIMEOUT_MS = 60_000;

/** Folder of the npm package `velopack`, when the run was told one. */
export function findVelopack(): string | undefined {
  return process.env.SLUICE_VELOPACK || undefined;
}

/**
 * Starts an installed app of a version once: it checks at `{service}/velopack/{app}/{channel}`, and downloads
 * the update that it finds.
 */
export async function runVelopackClient(feedUrl: string, version: string): Promise<VelopackAnswer> {
  const appFolder = temporaryFolder('sluice-velopack-');
  try {
    await install(appFolder, version);
    const input = JSON.stringify({ clientFolder: findVelopack(), feedUrl, appFolder });
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, input], {
      timeout: TIMEOUT_MS,
    });
    return {
      update: (JSON.parse(stdout) as VelopackUpdate | null) ?? undefined,
      packages: await packagesIn(join(appFolder, 'packages')),
    };
  } finally {
    removeFolder(appFolder);
  }
}

/** Lays out the folder as the client's own set-up does; its helper is never started here. */
async function install(appFolder: string, version: string): Promise<void> {
  await mkdir(join(appFolder, 'packages'));
  await mkdir(join(appFolder, 'current'));
  await writeFile(join(appFolder, 'Update'), '', { mode: 0o755 });
  await writeFile(
    join(appFolder, 'current', 'sq.version'),
    `<?xml version="1.0"?><package><metadata>
      <id>${VELOPACK_APP}</id><version>${version}</version>
      <channel>linux</channel><os>linux</os><rid>linux-x64</rid>
    </metadata></package>`,
  );
}

async function packagesIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.nupkg'));
  const read = names.map(
    async (name) => [name, await readFile(join(folder, name), 'utf8')] as const,
  );
  return new Map(await Promise.all(read));
}
