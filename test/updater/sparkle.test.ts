// Tests the appcasts of Sparkle and WinSparkle (docs/contract.md 21.5), read as those clients read them: what
// is in one, and which file. That every appcast keeps the rules of RSS is tested in grammars.test.ts.

import { expect, it } from 'vitest';
import type { Artifact } from '../../src/contract/resource.ts';
import { release } from '../domain/sample.ts';
import { DeviceSide, serving } from '../support/device-side.ts';
import { htmlBreaches } from '../support/feed-rules.ts';
import { artifacts, at } from '../support/released.ts';
import { readAppcast, type SparkleUpdate } from '../support/sparkle-client.ts';

const FILES = { darwin: 'appcast.xml', windows: 'appcast-windows.xml' } as const;
const SIGNATURE = Buffer.alloc(64, 7).toString('base64');
const EITHER = serving({ '1.0.0': 'darwin/arm64 arm64.zip, darwin/x64 x64.zip' });

async function read(side: DeviceSide, system: keyof typeof FILES = 'darwin', query = '') {
  const { status, text } = await side.ask(`/sparkle/acme/stable/${FILES[system]}?${query}`);
  expect(status).toBe(200);
  return readAppcast(text, system);
}

/** Returns the name of the file in the appcast of one release; `none` without an item. */
async function fileOf(all: readonly Artifact[], system: keyof typeof FILES) {
  return nameIn(await read(new DeviceSide([release('1.0.0', { artifacts: all })]), system));
}

function nameIn(update: SparkleUpdate | undefined): string {
  return update?.url.split('/').at(-1) ?? 'none';
}

it('an appcast has one release, with all that its clients read (§21.5)', async () => {
  const told = { signature: SIGNATURE, minimumSystemVersion: '13.0', buildVersion: '1042' };
  const notes = '## Better\n\n- *faster* & <b>smaller</b>\n- ]]> <script>alert(1)</script>';
  const all = artifacts('darwin/universal Notes&1.zip', told);
  const side = serving({ '1.0.0': 'darwin old.zip', 'v1.1': ['', { artifacts: all, notes }] });
  const update = await read(side);
  expect(update).toEqual({
    ...{ version: '1042', shortVersion: '1.1.0', minimumSystemVersion: '13.0' },
    hardware: undefined,
    notes: expect.stringMatching(/<h2>Better<\/h2>[\s\S]*&lt;script&gt;/),
    date: new Date('2026-01-02T03:04:05.000Z'),
    ...{ url: at('Notes&1.zip'), length: 1234, type: 'application/zip', signature: SIGNATURE },
  });
  expect(htmlBreaches(update?.notes ?? '')).toEqual([]);
});

it('it has the version as the build where the artifact names none, and no more than is known (§21.5)', async () => {
  const all = [{ platform: 'darwin', url: at('Notes.dmg') }];
  expect(await read(new DeviceSide([release('2.0.0-beta.1', { artifacts: all })]))).toEqual({
    ...{ version: '2.0.0-beta.1', shortVersion: '2.0.0-beta.1', date: expect.any(Date) },
    ...{ url: at('Notes.dmg'), length: 0, type: 'application/x-apple-diskimage' },
  });
});

it('it asks for a Windows as Windows numbers itself (§21.5)', async () => {
  const all = artifacts('windows Notes.exe', { minimumSystemVersion: '11' });
  const update = await read(new DeviceSide([release('1.0.0', { artifacts: all })]), 'windows');
  expect(update?.minimumSystemVersion).toBe('10.0-22000');
});

const OTHERS = ['a.app.tar.gz', 'a.nupkg', 'a.AppImage', 'a.msix', 'a.bin'];
it.each([
  ['darwin', ['a.zip', 'a.tar.xz', 'a.tar.gz', 'a.dmg', 'a.pkg'], [...OTHERS, 'a.exe']],
  ['windows', ['a-setup.exe', 'a.exe', 'a.msi'], [...OTHERS, 'a.zip']],
] as const)('on %s a client gets %j, and none of %j (§21.5)', async (system, own, others) => {
  const file = (name: string) => fileOf(artifacts(`${system} ${name}`), system);
  for (const name of own) expect(await file(name)).toBe(name);
  for (const name of others) expect(await file(name)).toBe('none');
});

it.each([
  ['windows', 'none', artifacts('darwin a.exe')],
  ['darwin', 'a.bin', artifacts('darwin a.bin', { format: 'tar.bz2' })],
  ['darwin', 'a.zip', artifacts('darwin a.pkg, darwin a.dmg, darwin a.zip')],
  ['windows', 'a-setup.exe', artifacts('windows a.msi, windows a-setup.exe')],
  [
    ...(['darwin', 'a.pkg'] as const),
    [...artifacts('darwin a.zip'), ...artifacts('darwin a.pkg', { signature: SIGNATURE })],
  ],
] as const)(
  'on %s %s has the format that was given, goes first, or is signed (§21.5)',
  async (system, name, all) => {
    expect(await fileOf(all, system)).toBe(name);
  },
);

it.each([
  ['arch=arm64', 'arm64.zip', EITHER],
  ['arch=x86_64', 'x64.zip', EITHER],
  ['', 'x64.zip', EITHER],
  ['arch=riscv64', 'none', EITHER],
  ['', 'any.zip', serving({ '1.0.0': 'darwin/x64 x64.zip, darwin any.zip' })],
  ['', 'both.zip', serving({ '1.0.0': 'darwin any.zip, darwin/universal both.zip' })],
])('?%s has %s, without an arch what runs everywhere (§21.5)', async (query, name, side) => {
  expect(nameIn(await read(side, 'darwin', query))).toBe(name);
});

it.each([
  ['', 'arm64', 'windows/x64 x64.exe'],
  ['arch=arm64', 'arm64', 'windows/x64 x64.exe'],
  ['arch=x64', 'none', 'windows/x64 x64.exe'],
  // Sparkle before 2.9 installs it on an Intel Mac all the same, so there must be none.
  ['', 'none', 'darwin/x64 x64.zip'],
  ['', 'none', 'darwin any.zip'],
  ['', 'none', 'darwin/x64 x64.app.tar.gz'],
  ['', 'none', 'windows/x64 x64.exe', ', darwin/universal b.zip'],
])('?%s asks for %s beside a paused %s%s (§21.5)', async (query, hardware, paused, more = '') => {
  const older = [paused, { status: 'paused' }] as const;
  const side = serving({ '0.9.0': older, '1.0.0': `darwin/arm64 a.zip${more}` });
  expect((await read(side, 'darwin', query))?.hardware ?? 'none').toBe(hardware);
});
