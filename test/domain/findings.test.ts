// Tests what is found in a release before it is published (docs/contract.md 23.3): one table, a row for each
// rule and for what comes close to it.

import { describe, expect, it } from 'vitest';
import type { Artifact } from '../../src/contract/resource.ts';
import { findingsOf } from '../../src/domain/release/findings.ts';
import { nearestPlatform } from '../../src/domain/release/nearest-platform.ts';
import { readTrustedComment } from '../../src/domain/release/trusted-comment.ts';
import { release, snapshot, version } from './sample.ts';

const GOOD: Artifact = {
  platform: 'linux',
  arch: 'x86_64',
  url: 'https://dl.example.com/notes_1.1.0_amd64.AppImage',
  sha512: 'ab'.repeat(64),
};
const SIGNED: Artifact = { ...GOOD, signature: 'c2lnbmF0dXJl' };
const BASE64_SUM = Buffer.alloc(64, 7).toString('base64');

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
  it.each<[string, readonly Artifact[], readonly string[]]>([
    ['nothing is wrong', [GOOD], []],
    ['a sum in base64', [{ ...GOOD, sha512: BASE64_SUM }], []],
    ['no url', [{ platform: 'linux' }], ['error artifacts.0.url']],
    [
      'a sum in hex that is too short',
      [{ ...GOOD, sha512: 'ab'.repeat(63) }],
      ['error artifacts.0.sha512'],
    ],
    [
      'a SHA-256 in base64',
      [{ ...GOOD, sha512: Buffer.alloc(32).toString('base64') }],
      ['error artifacts.0.sha512'],
    ],
    [
      'an unsigned one beside a signed one of its platform',
      [SIGNED, { ...GOOD, arch: 'aarch64' }],
      ['error artifacts.1.signature'],
    ],
    [
      'an unsigned one beside a signed one of another platform',
      [SIGNED, { ...GOOD, platform: 'windows' }],
      [],
    ],
    [
      'an unsigned dmg beside a signed archive',
      [
        { ...SIGNED, platform: 'darwin', url: 'https://dl.example.com/a.app.tar.gz' },
        { ...GOOD, platform: 'darwin', url: 'https://dl.example.com/a.dmg' },
      ],
      [],
    ],
    [
      'a url that is not https',
      [{ ...GOOD, url: 'http://dl.example.com/a.AppImage' }],
      ['warning artifacts.0.url'],
    ],
    ['the same target twice', [GOOD, GOOD], ['warning artifacts.1.format']],
    [
      'the same target in two formats',
      [GOOD, { ...GOOD, url: 'https://dl.example.com/a.deb' }],
      [],
    ],
    ['a misspelt platform', [{ ...GOOD, platform: 'widnows' }], ['warning artifacts.0.platform']],
    ['another name of a known platform', [{ ...GOOD, platform: 'macOS' }], []],
    ['no artifacts', [], ['warning artifacts']],
    [
      'only a dmg for macOS',
      [{ ...GOOD, platform: 'darwin', url: 'https://dl.example.com/a.dmg' }],
      ['warning artifacts'],
    ],
    [
      'a package of its version',
      [{ ...GOOD, url: 'https://dl.example.com/Notes-1.1.0-full.nupkg' }],
      [],
    ],
    [
      'a package of another version',
      [{ ...GOOD, url: 'https://dl.example.com/Notes-1.0.0-full.nupkg' }],
      ['warning artifacts.0.url'],
    ],
    [
      'a signature of the file and the version',
      [
        {
          ...GOOD,
          signature: minisign('timestamp:1\tfile:notes_1.1.0_amd64.AppImage\tversion:v1.1'),
        },
      ],
      [],
    ],
    [
      'a signature of another file',
      [{ ...GOOD, signature: minisign('timestamp:1\tfile:notes_1.0.0_amd64.AppImage') }],
      ['error artifacts.0.signature'],
    ],
    [
      'a signature of another version',
      [{ ...GOOD, signature: minisign('timestamp:1\tversion:1.0.0') }],
      ['error artifacts.0.signature'],
    ],
    [
      'a signature of a file whose name the code host has changed',
      [
        {
          ...GOOD,
          url: 'https://dl.example.com/My.Notes.AppImage',
          signature: minisign('timestamp:1\tfile:My Notes.AppImage'),
        },
      ],
      [],
    ],
  ])('%s', (_what, artifacts, expected) => {
    expect(found('1.1.0', artifacts)).toEqual(expected);
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

describe('findings beside the other releases', () => {
  it.each<[string, string, readonly Artifact[], readonly Artifact[], readonly string[]]>([
    [
      'lacks a platform',
      '1.1.0',
      [GOOD],
      [GOOD, { ...GOOD, platform: 'windows' }],
      ['warning artifacts'],
    ],
    [
      'lacks an architecture',
      '1.1.0',
      [GOOD],
      [GOOD, { ...GOOD, arch: 'aarch64' }],
      ['warning artifacts'],
    ],
    [
      'has one for every architecture',
      '1.1.0',
      [{ ...GOOD, arch: 'universal' }],
      [GOOD, { ...GOOD, arch: 'aarch64' }],
      [],
    ],
    ['has more', '1.1.0', [GOOD, { ...GOOD, platform: 'windows' }], [GOOD], []],
    ['is below the newest', '0.9.0', [GOOD], [GOOD], ['warning version']],
  ])('a release that %s', (_what, text, artifacts, before, expected) => {
    const place = snapshot([release('1.0.0', { artifacts: before })]);
    expect(found(text, artifacts, place)).toEqual(expected);
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
