// Tests that the real electron-updater takes what electron-builder uploads to a GitHub release: GitHub's
// SHA-256 is used in place of the SHA-512, which GitHub does not send (docs/contract.md 16.6 and 18.10). The
// update files come from the code that writes them; a server of the test sends them.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { announcedArtifacts } from '../../src/publishing/announced-artifacts.ts';
import { ELECTRON } from '../../src/updater/electron.ts';
import { release } from '../domain/sample.ts';
import {
  type ElectronClientOptions,
  fetchAsElectron,
  runElectronClient,
} from '../support/electron-client.ts';
import { loopbackServer } from '../support/loopback-server.ts';
import { rowsOf } from '../support/rows-of.ts';
import { temporaryFolder } from '../support/server-process.ts';
import { offered } from './offered.ts';

/** What each client takes, of all targets of electron-builder with its names, as GitHub rewrites them. */
const EXPECTED = rowsOf(`
  nsis x64: Acme.Notes.Setup.2.0.0.exe
  nsis arm64: Acme.Notes.Setup.2.0.0-arm64.exe
  nsis ia32: Acme.Notes.Setup.2.0.0-ia32.exe
  mac x64: Acme.Notes-2.0.0-mac.zip
  mac arm64: Acme.Notes-2.0.0-arm64-mac.zip
  AppImage x64: Acme.Notes-2.0.0.AppImage
  AppImage arm64: Acme.Notes-2.0.0-arm64.AppImage
  AppImage arm: Acme.Notes-2.0.0-armv7l.AppImage
  AppImage ia32: Acme.Notes-2.0.0-i386.AppImage
  deb x64: acme-notes_2.0.0_amd64.deb
  deb arm64: acme-notes_2.0.0_arm64.deb
  deb arm: acme-notes_2.0.0_armv7l.deb
  deb ia32: acme-notes_2.0.0_i386.deb
  rpm x64: acme-notes-2.0.0.x86_64.rpm
  rpm arm64: acme-notes-2.0.0.aarch64.rpm
  rpm arm: acme-notes-2.0.0.armv7l.rpm
  pacman x64: acme-notes-2.0.0.pacman
  pacman arm64: acme-notes-2.0.0-aarch64.pacman
`);
/** What else is in the release. `Acme.Notes.2.0.0.exe` is of the portable target, which is no installer. */
const OTHERS = `
  Acme.Notes-2.0.0-arm64.dmg Acme.Notes-2.0.0-ia32-win.zip Acme.Notes-2.0.0-win.zip
  Acme.Notes-2.0.0.dmg Acme.Notes.2.0.0.exe acme-notes-2.0.0.i686.rpm acme-notes-2.0.0.tar.gz
  acme-notes_2.0.0_amd64.snap
  Acme.Notes-2.0.0-arm64-mac.zip.blockmap Acme.Notes-2.0.0-mac.zip.blockmap builder-debug.yml
  Acme.Notes-2.0.0.dmg.blockmap Acme.Notes.Setup.2.0.0.exe.blockmap latest-linux-arm.yml
  latest-linux-arm64.yml latest-linux-ia32.yml latest-linux.yml latest-mac.yml latest.yml
`;
/** Names of all files, sorted as GitHub does. */
const NAMES = [...EXPECTED.map(([name]) => name), ...OTHERS.trim().split(/\s+/)].toSorted();

let server: Awaited<ReturnType<typeof loopbackServer>>;
let base: string;
beforeAll(async () => {
  // Every file's content is its name.
  server = await loopbackServer(({ url = '' }, response) => {
    const name = url.slice(1).replace(/\?.*/, '');
    response.end(name.endsWith('.yml') ? updateFile(name) : name);
  });
  base = `http://127.0.0.1:${server.port}`;
});
afterAll(() => server?.close());

function sumOf(name: string): string {
  return createHash('sha256').update(name).digest('hex');
}

/** Writes an update file of the release; undefined when it has no file for that. */
function updateFile(file: string) {
  const assets = NAMES.map((name) => {
    const told = { size: undefined, isUploaded: true, createdAt: undefined };
    return { ...told, name, url: `${base}/${name}`, digest: sumOf(name) };
  });
  const artifacts = announcedArtifacts(assets).artifacts.map(({ digest, ...artifact }) =>
    digest === undefined ? artifact : { ...artifact, sha256: digest },
  );
  return offered(ELECTRON, { channel: 'stable', file }, release('2.0.0', { artifacts }));
}

/** Runs a client, such as `nsis x64`. */
function run(client: string) {
  const [type, arch = ''] = client.split(' ') as [ElectronClientOptions['type'], string];
  return runElectronClient({ electronUrl: base, version: '1.0.0', type, arch });
}

it.each(EXPECTED)('%s is taken by %s', async (name, client) => {
  expect(await run(client)).toEqual({
    isUpdateAvailable: true,
    version: '2.0.0',
    file: { url: `${base}/${name}`, sha512: undefined, sha2: sumOf(name) },
  });
});

it('a file is installed with the sum that GitHub told, and not with another one', async () => {
  const { file } = await run('nsis x64');
  if (file === undefined) throw new Error('the updater chose no file');
  const destination = join(temporaryFolder('sluice-download-'), 'setup.exe');
  await fetchAsElectron(file, destination);
  expect(await readFile(destination, 'utf8')).toBe('Acme.Notes.Setup.2.0.0.exe');
  const other = fetchAsElectron({ ...file, url: `${base}/other.exe` }, destination);
  await expect(other).rejects.toMatchObject({ code: 'ERR_CHECKSUM_MISMATCH' });
});
