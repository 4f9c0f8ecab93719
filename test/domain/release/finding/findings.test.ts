// Tests what is found in a release before it is published (docs/contract.md 23.3): one table, a row for each
// rule and for what comes close to it.

import { describe, expect, it } from 'vitest';
import type { Artifact } from '../../../../src/contract/resource.ts';
import { DDI_DEFAULTS } from '../../../../src/contract/resource.ts';
import type { SnapshotRelease } from '../../../../src/domain/decision/serving-snapshot.ts';
import {
  nearestPlatform,
  readTrustedComment,
} from '../../../../src/domain/release/finding/artifact-rules.ts';
import { findingsOf, servedFindings } from '../../../../src/domain/release/finding/findings.ts';
import { release, snapshot, version } from '../../sample.ts';

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

/** Returns the file of an earlier version for the same devices. */
function older(artifact: Artifact): Artifact {
  return { ...artifact, url: `${HOST}old.AppImage`, sha512: 'cd'.repeat(64) };
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

/** A good artifact with another name, and one for macOS. */
const named = (name: string): Artifact => good({ url: HOST + name });
const mac = (name: string, signature?: string): Artifact => ({
  ...{ ...named(name), platform: 'darwin' },
  ...(signature === undefined ? {} : { signature }),
});
const UNSIGNED = 'error artifacts.0.signature';

describe('findings of artifacts', () => {
  it.each<[string, readonly Artifact[], string?]>([
    ['nothing is wrong', [GOOD]],
    ['a sum in base64', [good({ sha512: BASE64_SUM })]],
    ['no url', [{ platform: 'linux' }], 'error artifacts.0.url'],
    ['a sum in hex, too short', [good({ sha512: 'ab'.repeat(63) })], 'error artifacts.0.sha512'],
    ['a SHA-256 in base64', [good({ sha512: SHA256_SUM })], 'error artifacts.0.sha512'],
    ['unsigned beside signed', [SIGNED, good({ arch: 'aarch64' })], 'error artifacts.1.signature'],
    ['unsigned beside signed of another platform', [SIGNED, good({ platform: 'windows' })]],
    ['an unsigned dmg beside a signed archive', [mac('a.app.tar.gz', MINISIGNED), mac('a.dmg')]],
    ...['app.tar.gz', 'AppImage.tar.gz', 'nsis.zip', 'msi.zip'].map(
      (format): [string, readonly Artifact[], string] => [
        `an unsigned ${format}, which Tauri alone installs`,
        ...([[named(`a-setup.${format}`)], 'warning artifacts.0.signature'] as const),
      ],
    ),
    [
      'an unsigned bundle of Tauri beside signed ones of its platform, said once',
      [SIGNED, { ...named('a.AppImage.tar.gz'), arch: 'aarch64' }],
      'error artifacts.1.signature',
    ],
    ['an unsigned archive that others install too', [named('a.tar.gz')]],
    ['a url that is not https', [good({ url: 'http://a.b/a.deb' })], 'warning artifacts.0.url'],
    ['the same target twice', [GOOD, GOOD], 'warning artifacts.1.format'],
    ['the same target in two formats', [GOOD, named('a.deb')]],
    ['a misspelt platform', [good({ platform: 'widnows' })], 'warning artifacts.0.platform'],
    ['another name of a known platform', [good({ platform: 'macOS' })]],
    ['no artifacts', [], 'warning artifacts'],
    ['a dmg alone', [good({ platform: 'darwin', url: `${HOST}a.dmg` })], 'warning artifacts'],
    ['a package of its version', [named('Notes-1.1.0-full.nupkg')]],
    ['one of another version', [named('Notes-1.0.0-full.nupkg')], 'warning artifacts.0.url'],
    ...['target/notes.AppImage.sig', '"c2lnbmF0dXJl"', '/tmp/notes.minisig\n', '<signature>'].map(
      (signature): [string, readonly Artifact[], string] => [
        ...([`${signature} for a signature`, [good({ signature })], UNSIGNED] as const),
      ],
    ),
    ['one that Tauri cannot read', [mac('a.app.tar.gz', 'c2lnbmF0dXJl')], UNSIGNED],
    ['one of file and version', [minisigned('file:notes_1.1.0_amd64.AppImage\tversion:v1.1')]],
    ['one of another file', [minisigned('file:notes_1.0.0_amd64.AppImage')], UNSIGNED],
    ['one of another version', [minisigned('version:1.0.0')], UNSIGNED],
    [
      'one of a file whose name the code host has changed',
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

  it('one that DDI clients are not offered, on a channel that answers them (§34.22)', () => {
    const place = snapshot([], { ddi: DDI_DEFAULTS });
    const expected = ['sha1', 'size', 'sha256'].map((field) => `warning artifacts.0.${field}`);
    expect(found('1.1.0', [named('a.tar.gz')], place)).toEqual(expected);
    expect(found('1.1.0', [named('a.tar.gz')])).toEqual([]);
  });

  it('a platform that the channel had is known', () => {
    const place = snapshot([
      release('1.0.0', { artifacts: [older({ ...GOOD, platform: 'haiku' })] }),
    ]);
    expect(found('1.1.0', [{ ...GOOD, platform: 'Haiku' }], place)).toEqual([]);
    const followed = snapshot([
      release('1.0.0', { artifacts: [older({ ...GOOD, platform: 'haiku' })], followed: true }),
    ]);
    expect(found('1.1.0', [{ ...GOOD, platform: 'haiku' }], followed)).toEqual([
      'warning artifacts.0.platform',
    ]);
  });
});

/** Artifacts of a text such as `linux/x64 a.zip, windows b.exe`. */
function files(text: string): readonly Artifact[] {
  return text.split(', ').map((each) => {
    const [machine = '', name = ''] = each.split(' ');
    const [platform = '', arch] = machine.split('/');
    return { platform, url: HOST + name, ...(arch === undefined ? {} : { arch }) };
  });
}

describe('findings of the names of files', () => {
  const [URL, ARCH] = ['artifacts.0.url', 'artifacts.0.arch'];
  it.each<[string, string, string?]>([
    ['a checksum', 'linux/x64 a.zip.sha256', `error ${URL}`],
    ['symbols', 'linux/x64 notes-1.1.0-symbols.zip', `error ${URL}`],
    ['sources', 'linux/x64 notes-1.1.0-src.tar.gz', `error ${URL}`],
    ['a part', 'linux/x64 notes-linux.7z.001', `error ${URL}`],
    ['a package that is not the whole app', 'windows Notes-1.1.0-delta.nupkg', `error ${URL}`],
    [
      'the name of another artifact with something added',
      ...(['linux/x64 notes-linux, linux/arm64 notes-linux.2', 'error artifacts.1.url'] as const),
    ],
    ['an ending that is not known', 'linux/x64 notes.own', `warning ${URL}`],
    ['no ending', 'linux/x64 download'],
    ['no architecture, and nothing that names one', 'linux a.AppImage, linux b.deb'],
    ['none beside one that is named', 'linux a.deb, linux/arm64 b.AppImage', `warning ${ARCH}`],
    ['none beside what runs on all', 'linux a.AppImage, linux/universal b.deb'],
    ['a program that another one runs', 'linux a-linux.jar, linux/arm64 b.AppImage'],
    ['a package for Android that holds all', 'android a.apk, android/arm64 a-arm64.apk'],
    ['no architecture while the name tells one', 'linux a-x64.deb', `warning ${ARCH}`],
    ['none while the name tells all', 'linux a_1.1.0_all.deb'],
    ['a name of its own', 'linux/quux a-linux-quux.zip', `warning ${ARCH}`],
    ['none while the name has its own', 'linux a-linux-quux.zip', `warning ${ARCH}`],
    ['the name of another platform', 'linux a-mac-x64.zip'],
  ])('%s', (_what, text, expected) => {
    expect(found('1.1.0', files(text))).toEqual(expected === undefined ? [] : [expected]);
  });

  it("the publisher's own format", () => {
    const [own] = files('linux/x64 notes.json') as [Artifact];
    expect(found('1.1.0', [{ ...own, format: 'own' }])).toEqual([]);
  });
});

describe('findings beside the other releases', () => {
  it.each<[string, string, readonly Artifact[], readonly Artifact[], string?]>([
    ['lacks a platform', '1.1.0', [GOOD], [GOOD, good({ platform: 'a' })], 'warning artifacts'],
    ['lacks an architecture', '1.1.0', [GOOD], [GOOD, good({ arch: 'a' })], 'warning artifacts'],
    ['has all', '1.1.0', [good({ arch: 'universal' })], [GOOD, good({ arch: 'aarch64' })]],
    ['has more', '1.1.0', [GOOD, good({ platform: 'windows' })], [GOOD]],
    ['is below the newest', '0.9.0', [named('a.deb')], [GOOD], 'warning version'],
  ])('a release that %s', (_what, text, artifacts, before, expected) => {
    const place = snapshot([release('1.0.0', { artifacts: before.map(older) })]);
    expect(found(text, artifacts, place)).toEqual(expected === undefined ? [] : [expected]);
  });

  it('only published ones count', () => {
    const place = snapshot([release('2.0.0', { status: 'paused' })]);
    expect(found('1.1.0', [GOOD], place)).toEqual([]);
  });
});

describe('findings of names that tell a version', () => {
  const at = (tag: string): Artifact =>
    good({ url: `https://github.com/acme/note/releases/download/${tag}/Note.zip` });
  const told = ['warning artifacts.0.url'];
  it.each<[string, string, readonly Artifact[], readonly string[]]>([
    ['another version', '1.0.15', [named('Note-1.0.14-mac-universal.zip')], told],
    ['its version', '1.0.14', [named('Note-1.0.14-mac-universal.zip')], []],
    ['its version with a prefix', 'v1.0.14', [named('note-v1.0.14.zip')], []],
    ['its version with four parts', '1.5', [named('a-1.5.0.0.zip')], []],
    ['its version without a prerelease', '1.5.0-beta.2', [named('a-1.5.0-beta2.zip')], []],
    ['its version with zeros', '2026.1.5', [named('a-2026.01.05.zip')], []],
    ['its version and another number', '1.4.0', [named('App-1.4.0-java-17.0.9.zip')], []],
    ['the version of a runtime', '1.4.0', [named('App-java-17.0.9.zip')], []],
    ['the version of a system', '1.4.0', [named('App-macos10.15.7.zip')], []],
    ['the version of a distribution', '1.4.0', [named('a-ubuntu-22.04.3.zip')], []],
    ['the version of the app behind a system', '1.4.0', [named('App-mac-1.3.0.zip')], told],
    ['a date', '1.4.0', [named('nightly-2026.01.05.zip')], []],
    ['more than four numbers', '1.4.0', [named('a-10.0.19041.1.2.zip')], []],
    ['two numbers', '1.4.0', [named('ubuntu-22.04.zip')], []],
    ['another version in the tag of its address', '1.0.15', [at('v1.0.14')], told],
    ['its version in the tag of its address', '1.0.14', [at('note-v1.0.14')], []],
  ])('%s', (_what, text, artifacts, expected) => {
    expect(found(text, artifacts, snapshot([], { channel: 'beta' }))).toEqual(expected);
  });

  it('of files for several devices, one with the version of another release is told', () => {
    const artifacts = [named('a-1.5.0.zip'), { ...named('b-1.4.0.zip'), platform: 'windows' }];
    expect(found('1.5.0', artifacts)).toEqual([]);
    const place = snapshot([release('1.4.0', { artifacts: [], status: 'paused' })]);
    expect(found('1.5.0', artifacts, place)).toEqual(['warning artifacts.1.url']);
  });
});

describe('findings of files that an earlier version has', () => {
  const having = (artifact: Partial<Artifact>, parts = {}) =>
    snapshot([release('1.0.14', { artifacts: [good(artifact)], ...parts })]);
  const file = (artifact: Partial<Artifact>) => [good({ url: `${HOST}new.AppImage`, ...artifact })];
  const HEX = Buffer.from(BASE64_SUM, 'base64').toString('hex');
  const [SHORT, SHORTEST] = ['ab'.repeat(32), 'ab'.repeat(20)];
  const SPELT = 'HTTPS://DL.example.com/a.zip';
  it.each<[string, Partial<Artifact>, Partial<Artifact>, string?]>([
    ['another file', { sha512: HEX }, {}],
    ['the address', { url: `${HOST}a.zip` }, { url: `${HOST}a.zip` }, 'url'],
    ['the address, spelt otherwise', { url: `${HOST}a.zip` }, { url: SPELT }, 'url'],
    ['the SHA-512', { sha512: HEX }, { sha512: HEX }, 'sha512'],
    ['the SHA-512 in capitals', { sha512: BASE64_SUM }, { sha512: HEX.toUpperCase() }, 'sha512'],
    ['the SHA-512 in base64', { sha512: HEX }, { sha512: BASE64_SUM }, 'sha512'],
    ['the SHA-256', { sha256: SHORT }, { sha256: SHORT, sha512: HEX }, 'sha256'],
    ['the SHA-1', { sha1: SHORTEST }, { sha1: SHORTEST, sha512: HEX }, 'sha1'],
  ])('%s', (_what, old, fresh, field) => {
    const expected = field === undefined ? [] : [`error artifacts.0.${field}`];
    expect(found('1.0.15', file(fresh), having(old))).toEqual(expected);
    const followed = found('1.0.15', file(fresh), having(old, { followed: true }));
    expect(followed).toEqual(expected);
    expect(found('1.0.15', file(fresh), having(old, { status: 'deprecated' }))).toEqual(expected);
  });

  it('a higher version and the same one may have it', () => {
    const url = `${HOST}a.AppImage`;
    expect(found('1.0.14', file({ url }), having({ url }))).toEqual([]);
    expect(found('1.0.13', file({ url }), having({ url }, { status: 'paused' }))).toEqual([]);
  });
});

describe('findings of build numbers', () => {
  const universal = (name: string, parts: Partial<Artifact> = {}): Artifact => ({
    ...{ platform: 'darwin', arch: 'universal', url: HOST + name },
    ...parts,
  });
  const build = (buildVersion: string | undefined): Partial<Artifact> =>
    buildVersion === undefined ? {} : { buildVersion };
  const told = ['warning artifacts.0.buildVersion'];
  it.each<[string, string | undefined, string | undefined, readonly string[]]>([
    ['a higher one', '400', '401', []],
    ['none, below', '400', undefined, told],
    ['a lower one', '400', '99', told],
    ['the same one', '400', '400', told],
    ['the first one', undefined, '1', []],
    ['none, after a version', '4.0.0', undefined, []],
    ['one with words', '4.1b2', '4.1b10', []],
    ['a word before a number', '4.1', '4.1b10', told],
    ['the same one with a zero more', '4.1', '4.1.0', told],
  ])('%s (§23.3)', (_what, old, own, expected) => {
    const place = snapshot([release('4.0.0', { artifacts: [universal('old.zip', build(old))] })]);
    expect(found('4.1.0', [universal('new.zip', build(own))], place)).toEqual(expected);
  });

  it('concerns the same machine, and files that Sparkle installs (§23.3)', () => {
    const place = snapshot([release('4.0.0', { artifacts: [universal('a.zip', build('400'))] })]);
    const other = { ...universal('b.exe', build('9')), platform: 'windows' };
    const [signature, format] = [MINISIGNED, 'app.tar.gz'];
    const others = [other, universal('b.app.tar.gz', { signature, format })];
    const all = [...others, universal('b.zip', build('401')), universal('b.dmg')];
    expect(found('4.1.0', all, place).filter((each) => /buildVersion/.test(each))).toEqual([]);
  });
});

describe('findings of appcasts whose address names no architecture', () => {
  const intel = 'darwin/x64 old-x64.zip';
  it.each<[string, string, boolean, string?]>([
    ['an app for Apple silicon alone', 'darwin/arm64 a-arm64.zip', false],
    ['one that was for Intel Macs', 'darwin/arm64 a-arm64.zip', true, intel],
    ['one that still is', 'darwin/arm64 a-arm64.zip, darwin/x64 b.zip', false, intel],
    ['Windows on ARM alone', 'windows/arm64 a-arm64-setup.exe', true],
    ['Windows of 32 bits alone', 'windows/ia32 a-ia32.msi', true],
    ['Windows on both', 'windows/arm64 a-arm64-setup.exe, windows/x64 b.exe', false],
    ['what WinSparkle does not install', 'windows/arm64 a-arm64.nupkg', false],
  ])('%s (§21.5, §23.3)', (_what, text, isTold, before) => {
    const artifacts = before === undefined ? [] : files(before);
    const place = snapshot([release('1.0.0', { artifacts, followed: true })]);
    const told = findingsOf(version('1.1.0'), files(text), place);
    expect(told.some(({ message }) => /Without \?arch=/.test(message))).toBe(isTold);
  });
});

describe('findings of a minimum version', () => {
  const at = (text: string, rolloutPct: number, parts: Partial<SnapshotRelease> = {}) =>
    release(text, { rolloutPct, artifacts: [good({ url: `${HOST}${text}/a.deb` })], ...parts });
  const targets = { matchLabels: { ring: ['a'] }, matchExpressions: [] };
  it.each<[string, readonly SnapshotRelease[], string?]>([
    ['it is at 100 %', [at('2.0.0', 100)]],
    ['it is at 30 %', [at('2.0.0', 30)], '2.0.0 is at 30 %'],
    ['a higher one is at 100 %', [at('2.0.0', 30), at('2.1.0', 100)]],
    ['a followed one is at 100 %', [at('2.0.0', 30), at('2.1.0', 100, { followed: true })]],
    ['all are below', [at('2.0.0', 30), at('2.1.0', 50)], '2.1.0 is at 50 %'],
    ['it is for some', [at('2.0.0', 100, { targets })], 'the targeting of 2.0.0'],
    ['it is paused', [at('2.0.0', 100, { status: 'paused' })], '2.0.0 is paused'],
  ])('%s (§23.3)', (_what, releases, words) => {
    const minimumSupportedVersion = '2';
    const place = snapshot([at('1.0.0', 100), ...releases], { minimumSupportedVersion });
    const [finding, ...more] = servedFindings(at('2.0.0', 100), place).filter(
      ({ path }) => path === 'rollout',
    );
    const expected = words === undefined ? undefined : expect.stringContaining(words);
    expect([finding?.message, more]).toEqual([expected, []]);
    expect(servedFindings(at('1.0.0', 100), place).map(({ path }) => path)).not.toContain(
      'rollout',
    );
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

it('errors come first, then warnings, each with its path (§23.3)', () => {
  const before = [older(GOOD), older(good({ platform: 'darwin' }))];
  const place = snapshot([release('2.0.0', { artifacts: before })]);
  const artifacts = [{ platform: 'widnows' }, good({ sha512: 'short', url: 'http://a.example/x' })];
  expect(found('1.0.0-rc.1', artifacts, place)).toEqual([
    ...['error artifacts.0.url', 'error artifacts.1.sha512', 'warning version', 'warning version'],
    ...['warning artifacts.0.platform', 'warning artifacts.1.url', 'warning artifacts'],
  ]);
  const misspelt = findingsOf(version('1.0.0-rc.1'), artifacts, place)[4];
  expect(misspelt?.message).toContain('windows');
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
