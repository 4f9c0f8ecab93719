// Tests the feeds of Velopack (docs/contract.md 21.3): whom a feed is for, and which package it has.

import { expect, it } from 'vitest';
import { release } from '../domain/sample.ts';
import { DeviceSide, serving } from '../support/device-side.ts';
import { at, SUMS } from '../support/released.ts';

const FEED = '/velopack/acme/stable';
const NONE = '200';
const SOME = serving({
  '1.1.0': `windows/x64 win.nupkg, linux/x86 linux.nupkg, darwin/arm64 arm.nupkg,
    darwin/x64 intel.nupkg`,
});
const ANY = serving({ '1.1.0': 'darwin/x64 x.nupkg, darwin any.nupkg' });
const BOTH = serving({ '1.1.0': 'darwin any.nupkg, darwin/universal both.nupkg' });

async function assets(side: DeviceSide, feed: string): Promise<Record<string, unknown>[]> {
  return JSON.parse((await side.ask(`${FEED}/releases.${feed}`)).text).Assets;
}

it('a feed has the package that is offered, with what its client reads (§21.3)', async () => {
  const side = serving({ 'v1.1': ['windows/x64 My%20Notes-full.nupkg', { notes: '# Better' }] });
  expect(await assets(side, 'win.json?localVersion=1.0.0&id=Notes')).toEqual([
    {
      ...{ PackageId: 'Notes', Version: '1.1.0', Type: 'Full', FileName: 'My Notes-full.nupkg' },
      ...{ SHA1: 'AB'.repeat(20), SHA256: 'CD'.repeat(32), Size: 1234 },
      NotesMarkdown: '# Better',
    },
  ]);
  // Without a version the client compares, and without an id the package has the app's ref.
  for (const feed of ['win.json', 'win.json?localVersion=1.0.0']) {
    expect(await assets(side, feed)).toMatchObject([{ PackageId: 'acme' }]);
  }
  for (const feed of ['win.json?localVersion=1.1.0', 'win-arm64.json', 'linux.json']) {
    expect(await assets(side, feed)).toEqual([]);
  }
});

it.each([
  ['osx.json', 'intel.nupkg', SOME],
  ['osx-arm64.json', 'arm.nupkg', SOME],
  ['win-x64.json', 'win.nupkg', SOME],
  ['linux.json', NONE, SOME],
  ['beta.json?rid=osx.13-arm64', 'arm.nupkg', SOME],
  ['beta.json?rid=linux-musl-x86', 'linux.nupkg', SOME],
  ['beta.json?os=osx&arch=arm64', 'arm.nupkg', SOME],
  ['win.json?os=osx&arch=x64', 'intel.nupkg', SOME],
  ['win.json?rid=osx-x64&os=win&arch=arm64', 'intel.nupkg', SOME],
  ['osx.json', 'any.nupkg', ANY],
  ['osx.json', 'both.nupkg', BOTH],
])('%s is for the machine of %s (§21.3)', async (feed, file, side) => {
  expect(await side.file(`${FEED}/releases.${feed}`)).toBe(file);
});

const { sha1, sha256, size } = SUMS;
const bare = { platform: 'windows', url: at('Notes-2-full.nupkg') };
const OLDER = { Version: '1.0.0', SHA1: 'AB'.repeat(20), SHA256: 'CD'.repeat(32) };
it.each([
  ['no package without sums', '2.0.0', { ...bare, size }, OLDER],
  ['none without a size', '2.0.0', { ...bare, sha1 }, OLDER],
  ['none without an address', '2.0.0', { ...SUMS, platform: 'windows', format: 'nupkg' }, OLDER],
  ['no name in another folder', '2.0.0', { ...bare, size, sha1, url: at('a%2Fb.nupkg') }, OLDER],
  ['no version of four parts', '2.0.0.1', { ...bare, size, sha1 }, OLDER],
  ['one with SHA-1', '2.0.0', { ...bare, size, sha1 }, { Version: '2.0.0', SHA1: OLDER.SHA1 }],
  ['SHA-256', '2.0.0', { ...bare, size, sha256 }, { Version: '2.0.0', SHA256: OLDER.SHA256 }],
])('a feed lists %s (§21.3)', async (_, text, newest, expected) => {
  const side = new DeviceSide([
    release('1.0.0', { artifacts: [{ ...bare, ...SUMS }] }),
    release(text, { artifacts: [newest] }),
  ]);
  const [{ Version, SHA1, SHA256 } = {}, ...others] = await assets(side, 'win.json');
  expect([{ Version, SHA1, SHA256 }, others]).toEqual([expected, []]);
});

it('a package beside the feed leads to where it is published, in the highest version (§21.3)', async () => {
  const side = serving({
    '1.0.0': 'windows old/My%20Notes.nupkg',
    '1.1.0': 'windows new/My%20Notes.nupkg',
    '1.2.0': ['windows paused/My%20Notes.nupkg', { status: 'paused' }],
  });
  expect(await side.file(`${FEED}/My%20Notes.nupkg`)).toBe('new/My%20Notes.nupkg');
});
