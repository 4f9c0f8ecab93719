// Tests the feeds of Velopack (docs/contract.md 21.3): whom a feed is for, and which package it has.

import { describe, expect, it } from 'vitest';
import { release } from '../domain/sample.ts';
import { artifacts, DeviceSide, SUMS } from '../support/device-side.ts';
import { at } from '../support/released.ts';

const NONE = '200';
const WIN = artifacts('windows/x64 Notes-1.1.0-full.nupkg');
const FEED = '/velopack/acme/stable';

describe('the feed (§21.3)', () => {
  const side = new DeviceSide([release('v1.1', { artifacts: WIN, notes: '# Better' })]);
  const assets = async (feed: string) =>
    JSON.parse((await side.ask(`${FEED}/${feed}`)).text).Assets as object[];

  it('has the package that is offered, with what its client reads', async () => {
    expect(await assets('releases.win.json?localVersion=1.0.0&id=Notes')).toEqual([
      {
        ...{ PackageId: 'Notes', Version: '1.1.0', Type: 'Full' },
        FileName: 'Notes-1.1.0-full.nupkg',
        ...{ SHA1: 'AB'.repeat(20), SHA256: 'CD'.repeat(32), Size: 1234 },
        NotesMarkdown: '# Better',
      },
    ]);
    // Without a version the client compares, and without an id the package has the app's ref.
    expect(await assets('releases.win.json')).toMatchObject([{ PackageId: 'acme' }]);
  });

  it.each(['win.json?localVersion=1.1.0', 'win-arm64.json', 'linux.json'])(
    'has none for %s',
    async (feed) => {
      expect(await assets(`releases.${feed}`)).toEqual([]);
    },
  );
});

describe('the machine is told by rid, os and arch, or the name (§21.3)', () => {
  const mac = 'darwin/arm64 arm.nupkg, darwin/x64 intel.nupkg';
  const some = new DeviceSide([
    release('1.1.0', {
      artifacts: artifacts(`windows/x64 win.nupkg, linux/x86 linux.nupkg, ${mac}`),
    }),
  ]);

  it.each([
    ['osx', '', 'intel.nupkg'],
    ['osx-arm64', '', 'arm.nupkg'],
    ['win-x64', '', 'win.nupkg'],
    ['linux-x86', '', 'linux.nupkg'],
    ['linux', '', NONE],
    ['beta', 'rid=osx.13-arm64', 'arm.nupkg'],
    ['beta', 'rid=win10-x64', 'win.nupkg'],
    ['beta', 'rid=linux-musl-x86', 'linux.nupkg'],
    ['beta', 'os=osx&arch=arm64', 'arm.nupkg'],
    ['win', 'os=osx&arch=x64', 'intel.nupkg'],
    ['win', 'rid=osx-x64&os=win&arch=arm64', 'intel.nupkg'],
    ['win', 'localVersion=&id=&rid=&os=&arch=', 'win.nupkg'],
  ])('releases.%s.json?%s has %s', async (name, query, file) => {
    expect(await some.file(`${FEED}/releases.${name}.json?${query}`)).toBe(file);
  });

  it.each([
    ['darwin any.nupkg, darwin/universal both.nupkg, darwin/x64 x.nupkg', 'both.nupkg'],
    ['darwin/x64 x.nupkg, darwin any.nupkg', 'any.nupkg'],
  ])('on a Mac without arch what runs everywhere goes first: of %s, %s', async (text, file) => {
    const side = new DeviceSide([release('1.2.0', { artifacts: artifacts(text) })]);
    expect(await side.file(`${FEED}/releases.osx.json`)).toBe(file);
  });
});

describe('a feed lists only what its client can read (§21.3)', () => {
  const { sha1, sha256, size } = SUMS;
  const bare = { platform: 'windows', url: at('Notes-2-full.nupkg') };
  const BEFORE = { Version: '1.0.0', SHA1: 'AB'.repeat(20), SHA256: 'CD'.repeat(32) };

  it.each([
    ['no package without sums', '2.0.0', { ...bare, size }, BEFORE],
    ['none without a size', '2.0.0', { ...bare, sha1 }, BEFORE],
    ['none without an address', '2.0.0', { ...SUMS, platform: 'windows', format: 'nupkg' }, BEFORE],
    ['no name in another folder', '2.0.0', { ...bare, size, sha1, url: at('a%2Fb.nupkg') }, BEFORE],
    ['no version of four parts', '2.0.0.1', { ...bare, size, sha1 }, BEFORE],
    ['one with SHA-1', '2.0.0', { ...bare, size, sha1 }, { Version: '2.0.0', SHA1: BEFORE.SHA1 }],
    [
      ...(['one with SHA-256', '2.0.0', { ...bare, size, sha256 }] as const),
      { Version: '2.0.0', SHA256: BEFORE.SHA256 },
    ],
  ])('%s', async (_, text, newest, expected) => {
    const releases = [release('1.0.0', { artifacts: WIN }), release(text, { artifacts: [newest] })];
    const side = new DeviceSide(releases);
    const feed = await side.ask(`${FEED}/releases.win.json?localVersion=0.9.0`);
    const [{ Version, SHA1, SHA256 }, ...others] = JSON.parse(feed.text).Assets;
    expect([{ Version, SHA1, SHA256 }, others]).toEqual([expected, []]);
  });
});

it('a package beside the feed leads to where it is published, in the highest version (§21.3)', async () => {
  const named = (host: string) => [
    { platform: 'windows', url: `https://${host}.example.com/My%20Notes.nupkg` },
  ];
  const side = new DeviceSide([
    release('1.0.0', { artifacts: named('old') }),
    release('1.1.0', { artifacts: named('new') }),
    release('1.2.0', { artifacts: named('paused'), status: 'paused' }),
  ]);
  const { status, headers } = await side.ask(`${FEED}/My%20Notes.nupkg`);
  expect([status, headers.get('location')]).toEqual([
    302,
    'https://new.example.com/My%20Notes.nupkg',
  ]);
  expect([headers.get('cache-control'), side.checked]).toEqual(['no-store', []]);
});
