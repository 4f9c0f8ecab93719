// Tests the appcasts of Sparkle and WinSparkle (docs/contract.md 21.5), read as those clients read them: what is
// in one, and which file. That every appcast keeps the rules of RSS is tested in grammars.test.ts.

import { describe, expect, it } from 'vitest';
import type { Artifact } from '../../src/contract/resource.ts';
import type { SnapshotRelease } from '../../src/domain/decision/serving-snapshot.ts';
import { release } from '../domain/sample.ts';
import { artifacts, DeviceSide } from '../support/device-side.ts';
import { htmlBreaches } from '../support/feed-rules.ts';
import { at } from '../support/released.ts';
import { readAppcast } from '../support/sparkle-client.ts';

type System = 'darwin' | 'windows';

const FILES = { darwin: 'appcast.xml', windows: 'appcast-windows.xml' } as const;
const SIGNATURE = Buffer.alloc(64, 7).toString('base64');

/** Reads the appcast of a channel with these releases. */
async function read(releases: readonly SnapshotRelease[], system: System = 'darwin', query = '') {
  const side = new DeviceSide(releases);
  const { status, text } = await side.ask(`/sparkle/acme/stable/${FILES[system]}?${query}`);
  expect(status).toBe(200);
  return readAppcast(text, system);
}

/** Name of the file in the appcast of one release, `none` without an item. */
async function fileOf(published: readonly Artifact[], system: System = 'darwin', query = '') {
  const update = await read([release('1.0.0', { artifacts: published })], system, query);
  return update?.url.split('/').at(-1) ?? 'none';
}

describe('an appcast (§21.5)', () => {
  it('has one release, with all that its clients read', async () => {
    const told = { signature: SIGNATURE, minimumSystemVersion: '13.0', buildVersion: '1042' };
    const all = (name: string) => artifacts(`darwin/universal ${name}`, told);
    const notes = '## Better\n\n- *faster* & <b>smaller</b>\n- ]]> <script>alert(1)</script>';
    const newer = release('v1.1', { artifacts: all('Notes&1.zip'), notes });
    const update = await read([release('1.0.0', { artifacts: all('old.zip') }), newer]);
    expect(update).toEqual({
      ...{ version: '1042', shortVersion: '1.1.0', minimumSystemVersion: '13.0' },
      hardware: undefined,
      notes: expect.stringMatching(/<h2>Better<\/h2>[\s\S]*&lt;script&gt;/),
      date: new Date('2026-01-02T03:04:05.000Z'),
      ...{ url: at('Notes&1.zip'), length: 1234, type: 'application/zip', signature: SIGNATURE },
    });
    expect(htmlBreaches(update?.notes ?? '')).toEqual([]);
  });

  it('has the version as the build where the artifact names none, and no more than is known', async () => {
    const published = [{ platform: 'darwin', url: at('Notes.dmg') }];
    expect(await read([release('2.0.0-beta.1', { artifacts: published })])).toEqual({
      ...{ version: '2.0.0-beta.1', shortVersion: '2.0.0-beta.1', date: expect.any(Date) },
      ...{ url: at('Notes.dmg'), length: 0, type: 'application/x-apple-diskimage' },
    });
  });

  it('asks for a Windows as Windows numbers itself', async () => {
    const told = { minimumSystemVersion: '11' };
    const published = artifacts('windows Notes.exe', told);
    const update = await read([release('1.0.0', { artifacts: published })], 'windows');
    expect(update?.minimumSystemVersion).toBe('10.0-22000');
  });
});

describe('a file (§21.5)', () => {
  it.each<[system: System, installed: string, others: string]>([
    [
      ...(['darwin', 'Notes.zip Notes.tar.xz Notes.tar.gz Notes.dmg Notes.pkg'] as const),
      'Notes.app.tar.gz Notes.nupkg Notes.AppImage Notes.msix Notes.bin Notes.exe',
    ],
    [
      ...(['windows', 'Notes-setup.exe Notes.exe Notes.msi'] as const),
      'Notes.app.tar.gz Notes.nupkg Notes.AppImage Notes.msix Notes.bin Notes.zip',
    ],
  ])('is what a client on %s installs: %s, and not %s', async (system, installed, others) => {
    const named = (name: string) => artifacts(`${system} ${name}`);
    for (const name of installed.split(' ')) expect(await fileOf(named(name), system)).toBe(name);
    for (const name of others.split(' ')) expect(await fileOf(named(name), system)).toBe('none');
  });

  it.each<[published: Artifact[], system: System, name: string]>([
    [artifacts('darwin a.tar.bz2', { format: 'tar.bz2' }), 'darwin', 'a.tar.bz2'],
    [artifacts('darwin a.pkg, darwin a.dmg, darwin a.zip'), 'darwin', 'a.zip'],
    [artifacts('windows a.msi, windows a-setup.exe'), 'windows', 'a-setup.exe'],
    [
      ...([
        [...artifacts('darwin a.zip'), ...artifacts('darwin a.pkg', { signature: SIGNATURE })],
        ...(['darwin', 'a.pkg'] as const),
      ] as [Artifact[], System, string]),
    ],
  ])(
    'has the format that was given, is signed or goes first: case %#',
    async (published, system, name) => {
      expect(await fileOf(published, system)).toBe(name);
    },
  );

  it.each([
    ['darwin/arm64 arm64.zip, darwin/x64 x64.zip', 'arch=arm64', 'arm64.zip'],
    ['darwin/arm64 arm64.zip, darwin/x64 x64.zip', 'arch=AARCH64', 'arm64.zip'],
    ['darwin/arm64 arm64.zip, darwin/x64 x64.zip', 'arch=x86_64', 'x64.zip'],
    ['darwin/arm64 arm64.zip, darwin/x64 x64.zip', '', 'x64.zip'],
    ['darwin/arm64 arm64.zip, darwin/x64 x64.zip', 'arch=', 'x64.zip'],
    ['darwin/arm64 arm64.zip, darwin/x64 x64.zip', 'arch=riscv64', 'none'],
    ['darwin/x64 x64.zip, darwin any.zip', '', 'any.zip'],
    ['darwin any.zip, darwin/universal both.zip', '', 'both.zip'],
  ])(
    'is for the arch of the query, without it what runs everywhere: of %s, for %s %s',
    async (text, query, name) => {
      expect(await fileOf(artifacts(text), 'darwin', query)).toBe(name);
    },
  );
});

describe('Apple silicon (§21.5)', () => {
  const ARM = artifacts('darwin/arm64 arm64.zip');
  const newest = release('1.0.0', { artifacts: [...ARM, ...artifacts('windows/x64 x64.exe')] });
  const paused = (text: string) =>
    release('0.9.0', { artifacts: artifacts(text), status: 'paused' });

  it.each<[releases: SnapshotRelease[], query: string, hardware: string | undefined]>([
    [[newest], '', 'arm64'],
    [[newest], 'arch=arm64', 'arm64'],
    [[newest], 'arch=x64', 'none'],
    // Sparkle before 2.9 installs it on an Intel Mac all the same, so there must be none.
    [[newest, paused('darwin/x64 x64.zip')], '', 'none'],
    [[newest, paused('darwin/universal universal.zip')], '', 'none'],
    [[newest, paused('darwin any.zip')], '', 'none'],
    [[newest, paused('darwin/x64 x64.app.tar.gz')], '', 'none'],
    [[newest, paused('darwin/x64 x64.zip')], 'arch=arm64', 'arm64'],
    // A release for every Mac asks for no hardware.
    [
      [release('1.0.0', { artifacts: [...ARM, ...artifacts('darwin/universal universal.zip')] })],
      '',
      undefined,
    ],
  ])(
    'is asked for where a channel was only ever for it: case %#, %s',
    async (releases, query, hardware) => {
      const update = await read(releases, 'darwin', query);
      expect(update === undefined ? 'none' : update.hardware).toBe(hardware);
    },
  );
});
