// Tests what is found in a release before it is published (docs/contract.md 23.3): one table, a row for each
// rule and for what comes close to it.

import { describe, expect, it } from 'vitest';
import type { Artifact } from '../../../src/contract/resource.ts';
import { findingsOf } from '../../../src/domain/release/findings.ts';
import { nearestPlatform } from '../../../src/domain/release/nearest-platform.ts';
import { readTrustedComment } from '../../../src/domain/release/trusted-comment.ts';
import { release, snapshot, version } from '../sample.ts';

const GOOD: Artifact = {
  platform: 'linux',
  arch: 'x86_64',
  url: 'https://dl.example.com/notes_1.1.0_amd64.AppImage',
  sha512: 'ab'.repeat(64),
};
const SIGNED: Artifact = { ...GOOD, signature: 'c2lnbmF0dXJl' };
/** A minisign file in base64, as Tauri's bundler writes it. */
const MINISIGNED = minisign('timestamp:1');
const HOST = 'https://dl.example.com/';
const BASE64_SUM = Buffer.alloc(64, 7).toString('base64');
const SHA256_SUM = Buffer.alloc(32).toString('base64');

function good(parts: Partial<Artifact>): Artifact {
  return { ...GOOD, ...parts };
}

/** An artifact with a minisign file whose trusted comment ends so. */
function minisigned(comment: string): Artifact {
  return good({ signature: minisign(`timestamp:1\t${comment}`) });
}

function minisign(comment: string): string {
  const text = `untrusted comment: signature\nRUQ=\ntrusted comment: ${comment}\nAAAA==\n`;
  return Buffer.from(text).toString('base64');
}

type Place = Parameters<typeof findingsOf>[2];

function found(
  text: string,
  artifacts: readonly Artifact[],
  place: Place = snapshot([]),
): readonly string[] {
  return findingsOf(version(text), artifacts, place).map(
    ({ severity, path }) => `${severity} ${path}`,
  );
}

describe('findings of artifacts', () => {
  it.each<[string, readonly Artifact[], string?]>([
    ['nothing is wrong', [GOOD]],
    ['a sum in base64', [good({ sha512: BASE64_SUM })]],
    ['no url', [{ platform: 'linux' }], 'error artifacts.0.url'],
    ['a sum in hex, too short', [good({ sha512: 'ab'.repeat(63) })], 'error artifacts.0.sha512'],
    ['a SHA-256 in base64', [good({ sha512: SHA256_SUM })], 'error artifacts.0.sha512'],
    ['unsigned beside signed', [SIGNED, good({ arch: 'aarch64' })], 'error artifacts.1.signature'],
    ['unsigned beside signed of another platform', [SIGNED, good({ platform: 'windows' })]],
    [
      'an unsigned dmg beside a signed archive',
      [
        good({ platform: 'darwin', url: `${HOST}a.app.tar.gz`, signature: MINISIGNED }),
        good({ platform: 'darwin', url: `${HOST}a.dmg` }),
      ],
    ],
    ...['app.tar.gz', 'AppImage.tar.gz', 'nsis.zip', 'msi.zip'].map(
      (format): [string, readonly Artifact[], string] => [
        `an unsigned ${format}, which Tauri alone installs`,
        [good({ url: `${HOST}a-setup.${format}` })],
        'warning artifacts.0.signature',
      ],
    ),
    [
      'an unsigned bundle of Tauri beside signed ones of its platform, said once',
      [SIGNED, good({ arch: 'aarch64', url: `${HOST}a.AppImage.tar.gz` })],
      'error artifacts.1.signature',
    ],
    ['an unsigned archive that others install too', [good({ url: `${HOST}a.tar.gz` })]],
    ['a url that is not https', [good({ url: 'http://a.b/a.deb' })], 'warning artifacts.0.url'],
    ['the same target twice', [GOOD, GOOD], 'warning artifacts.1.format'],
    ['the same target in two formats', [GOOD, good({ url: `${HOST}a.deb` })]],
    ['a misspelt platform', [good({ platform: 'widnows' })], 'warning artifacts.0.platform'],
    ['another name of a known platform', [good({ platform: 'macOS' })]],
    ['no artifacts', [], 'warning artifacts'],
    ['a dmg alone', [good({ platform: 'darwin', url: `${HOST}a.dmg` })], 'warning artifacts'],
    ['a package of its version', [good({ url: `${HOST}Notes-1.1.0-full.nupkg` })]],
    [
      'a package of another version',
      [good({ url: `${HOST}Notes-1.0.0-full.nupkg` })],
      'warning artifacts.0.url',
    ],
    ...['target/notes.AppImage.sig', '"c2lnbmF0dXJl"', '/tmp/notes.minisig\n', '<signature>'].map(
      (signature): [string, readonly Artifact[], string] => [
        `${signature} for a signature`,
        [good({ signature })],
        'error artifacts.0.signature',
      ],
    ),
    [
      'a signature that Tauri cannot read',
      [good({ platform: 'darwin', url: `${HOST}a.app.tar.gz`, signature: 'c2lnbmF0dXJl' })],
      'error artifacts.0.signature',
    ],
    [
      'a signature of file and version',
      [minisigned('file:notes_1.1.0_amd64.AppImage\tversion:v1.1')],
    ],
    [
      'a signature of another file',
      [minisigned('file:notes_1.0.0_amd64.AppImage')],
      'error artifacts.0.signature',
    ],
    [
      'a signature of another version',
      [minisigned('version:1.0.0')],
      'error artifacts.0.signature',
    ],
    [
      'a signature of a file whose name the code host has changed',
      [{ ...minisigned('file:My Notes.AppImage'), url: `${HOST}My.Notes.AppImage` }],
    ],
  ])('%s', (_what, artifacts, expected) => {
    expect(found('1.1.0', artifacts)).toEqual(expected === undefined ? [] : [expected]);
  });

  it('an unsigned one on a channel that requires signatures', () => {
    const place = snapshot([], { requireSignature: true });
    expect(found('1.1.0', [GOOD], place)).toEqual(['error artifacts.0.signature']);
    expect(found('1.1.0', [SIGNED], place)).toEqual([]);
  });

  it('a platform that the channel had is known', () => {
    const place = snapshot([release('1.0.0', { artifacts: [{ ...GOOD, platform: 'haiku' }] })]);
    expect(found('1.1.0', [{ ...GOOD, platform: 'Haiku' }], place)).toEqual([]);
    const followed = snapshot([
      release('1.0.0', { artifacts: [{ ...GOOD, platform: 'haiku' }], followed: true }),
    ]);
    expect(found('1.1.0', [{ ...GOOD, platform: 'haiku' }], followed)).toEqual([
      'warning artifacts.0.platform',
    ]);
  });
});

describe('findings of the names of files', () => {
  const linux = (name: string, arch?: string): Artifact => ({
    ...{ platform: 'linux', url: HOST + name },
    ...(arch === undefined ? {} : { arch }),
  });
  it.each<[string, readonly Artifact[], ...string[]]>([
    ['a checksum', [linux('a.zip.sha256', 'x64')], 'error artifacts.0.url'],
    ['symbols', [linux('notes-1.1.0-symbols.zip', 'x64')], 'error artifacts.0.url'],
    ['sources', [linux('notes-1.1.0-src.tar.gz', 'x64')], 'error artifacts.0.url'],
    ['a part', [linux('notes-linux.7z.001', 'x64')], 'error artifacts.0.url'],
    [
      'a package that is not the whole app',
      [{ platform: 'windows', url: `${HOST}Notes-1.1.0-delta.nupkg` }],
      'error artifacts.0.url',
    ],
    [
      'the name of another artifact with something added',
      [linux('notes-linux', 'x64'), linux('notes-linux.2', 'arm64')],
      'error artifacts.1.url',
    ],
    ['an ending that is not known', [linux('notes.own', 'x64')], 'warning artifacts.0.url'],
    ["the publisher's own format", [{ ...linux('notes.json', 'x64'), format: 'own' }]],
    ['no ending', [linux('download', 'x64')]],
    ['no architecture, and nothing that names one', [linux('a.AppImage'), linux('b.deb')]],
    [
      'no architecture beside one that is named',
      [linux('a.deb'), linux('b.AppImage', 'arm64')],
      'warning artifacts.0.arch',
    ],
    ['none beside what runs on all', [linux('a.AppImage'), linux('b.deb', 'universal')]],
    ['a program that another one runs', [linux('a-linux.jar'), linux('b.AppImage', 'arm64')]],
    [
      'a package for Android that holds all',
      [
        { platform: 'android', url: `${HOST}a.apk` },
        { platform: 'android', arch: 'arm64', url: `${HOST}a-arm64.apk` },
      ],
    ],
    ['no architecture while the name tells one', [linux('a-x64.deb')], 'warning artifacts.0.arch'],
    ['none while the name tells all', [linux('a_1.1.0_all.deb')]],
    ['a name of its own', [linux('a-linux-quux.zip', 'quux')], 'warning artifacts.0.arch'],
    ['none while the name has its own', [linux('a-linux-quux.zip')], 'warning artifacts.0.arch'],
    ['the name of another platform', [linux('a-mac-x64.zip')]],
  ])('%s', (_what, artifacts, ...expected) => {
    expect(found('1.1.0', artifacts)).toEqual(expected);
  });
});

describe('findings beside the other releases', () => {
  it.each<[string, string, readonly Artifact[], readonly Artifact[], string?]>([
    ['lacks a platform', '1.1.0', [GOOD], [GOOD, good({ platform: 'a' })], 'warning artifacts'],
    ['lacks an architecture', '1.1.0', [GOOD], [GOOD, good({ arch: 'a' })], 'warning artifacts'],
    ['has all', '1.1.0', [good({ arch: 'universal' })], [GOOD, good({ arch: 'aarch64' })]],
    ['has more', '1.1.0', [GOOD, good({ platform: 'windows' })], [GOOD]],
    ['is below the newest', '0.9.0', [GOOD], [GOOD], 'warning version'],
  ])('a release that %s', (_what, text, artifacts, before, expected) => {
    const place = snapshot([release('1.0.0', { artifacts: before })]);
    expect(found(text, artifacts, place)).toEqual(expected === undefined ? [] : [expected]);
  });

  it('only published ones count', () => {
    const place = snapshot([release('2.0.0', { status: 'paused' })]);
    expect(found('1.1.0', [GOOD], place)).toEqual([]);
  });
});

describe('findings of versions', () => {
  it.each<[string, string, readonly string[]]>([
    ['1.1.0-rc.1', 'stable', ['warning version']],
    ['1.1.0-rc.1', 'beta', []],
    ['1.1.0.4', 'stable', ['warning version']],
    ['1.1.0.0', 'stable', []],
  ])('%s on %s', (text, channel, expected) => {
    expect(found(text, [GOOD], snapshot([], { channel }))).toEqual(expected);
  });
});

it('the nearest platform of a misspelt one is named', () => {
  expect(['widnows', 'linus', 'macoss', 'andriod'].map(nearestPlatform)).toEqual([
    'windows',
    'linux',
    'macos',
    'android',
  ]);
  expect(['Windows', 'win32', 'macOS', 'linux'].map(nearestPlatform)).toEqual(
    Array(4).fill(undefined),
  );
});

it('a signature that is no minisign file has no trusted comment', () => {
  for (const text of ['', 'c2lnbmF0dXJl', '{}', 'ü', 'a'.repeat(10_000)]) {
    expect(readTrustedComment(text)).toBeUndefined();
  }
});
