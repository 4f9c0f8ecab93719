// Tests what is published of folders of goreleaser, by the list that it writes of what it has made
// (docs/operating/commands.md).

import { createHash } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { differenceOf } from '../../src/cli/print/difference.ts';
import { addressOf, BuildFolder } from '../support/build-folder.ts';

const folder = new BuildFolder();
const HOST = addressOf('');

type Json = Readonly<Record<string, unknown>>;
type Target = Readonly<Record<string, string>>;

const LINUX = { goos: 'linux', goarch: 'amd64', goamd64: 'v1', target: 'linux_amd64_v1' };
const ARM = { goos: 'linux', goarch: 'arm', goarm: '6', target: 'linux_arm_6' };
const MAC = { goos: 'darwin', goarch: 'all', target: 'darwin_all' };
const WINDOWS = { goos: 'windows', goarch: '386', go386: 'sse2', target: 'windows_386_sse2' };
const ALL = [LINUX, ARM, MAC, WINDOWS];

/** Program as goreleaser compiles it, in a folder of its own. */
function program(target: Target): Json {
  const name = target.goos === 'windows' ? 'tool.exe' : 'tool';
  const path = `dist/tool_${target.target}/${name}`;
  return { name, path, ...target, internal_type: 4, type: 'Binary', extra: { Binary: 'tool' } };
}

/** What goreleaser makes of a program for its upload: an archive, or the program itself. */
function archive(target: Target): Json {
  const name = `tool_${target.goos}_${target.goarch}.tar.gz`;
  const extra = { Binaries: ['tool'], Checksum: sumOf(`dist/${name}`), Format: 'tar.gz' };
  return { name, path: `dist/${name}`, ...target, internal_type: 1, type: 'Archive', extra };
}
function upload(target: Target): Json {
  const made = program(target);
  const extra = { Format: 'binary', Binary: 'tool', Checksum: sumOf(String(made.path)) };
  return { ...made, name: `tool-${target.goos}-${target.goarch}`, internal_type: 2, extra };
}

/** Every file contains its path. */
const sumOf = (content: string) => `sha256:${createHash('sha256').update(content).digest('hex')}`;

const BESIDE: readonly Json[] = [
  { name: 'metadata.json', path: 'dist/metadata.json', internal_type: 37, type: 'Metadata' },
  { name: 'checksums.txt', path: 'dist/checksums.txt', internal_type: 12, type: 'Checksum' },
  { name: 'acme/tool:1', path: 'acme/tool:1', ...{ goos: 'linux', type: 'Docker Image' } },
  { name: 'tool.rb', path: 'dist/homebrew/tool.rb', type: 'Homebrew Cask', extra: { Config: {} } },
];

/** Writes the list and its files below `dist`, and reads them for the release of a version. */
async function read(
  made: readonly Json[],
  more: Target = {},
  version = '1.4.0',
  isPattern = false,
) {
  const list = [...BESIDE, ...made];
  const files: Target = {
    ...Object.fromEntries(made.map(({ path }) => [path, path])),
    'dist/metadata.json': JSON.stringify({ project_name: 'tool', tag: 'v1.4.0', version: '1.4.0' }),
    'dist/artifacts.json': JSON.stringify(list),
    'dist/config.yaml': 'version: 2',
    ...more,
  };
  const [root = ''] = folder.lay(files);
  const names = isPattern ? readdirSync(root) : [''];
  const paths = names.map((name) => join(root, name));
  const { artifacts, passedOver, findings } = await folder.read(files, version, paths);
  return {
    taken: artifacts
      .map(({ url = '', platform, arch }) => `${decodeURIComponent(url)} ${platform} ${arch}`)
      .map((line) => line.slice(HOST.length))
      .toSorted(),
    passedOver: Object.entries(passedOver).map(([file, reason]) => `${file}: ${reason}`),
    findings,
  };
}

describe('a folder of goreleaser', () => {
  const PLAIN = [
    'tool_darwin_all/tool darwin universal',
    'tool_linux_amd64_v1/tool linux x86_64',
    'tool_linux_arm_6/tool linux armv6',
    'tool_windows_386_sse2/tool.exe windows i686',
  ];

  it.each([false, true])(
    'has all its programs, or its archives and no program twice (pattern: %s) (Command line)',
    async (isPattern) => {
      const plain = await read(ALL.map(program), {}, '1.4.0', isPattern);
      expect([plain.taken, plain.findings]).toEqual([PLAIN, []]);
      const made = [...ALL.map(program), ...ALL.map(archive)];
      const { taken, passedOver, findings } = await read(made, {}, 'v1.4', isPattern);
      expect(taken).toEqual([
        'tool_darwin_all.tar.gz darwin universal',
        'tool_linux_amd64.tar.gz linux x86_64',
        'tool_linux_arm.tar.gz linux armv6',
        'tool_windows_386.tar.gz windows i686',
      ]);
      expect(findings).toEqual([]);
      const unpacked = passedOver.filter((line) => line.endsWith('an app that is not packed'));
      expect(unpacked.length).toBe(ALL.length);
    },
  );

  it('of programs that are uploaded as they are has them under those names (Command line)', async () => {
    const made = [...ALL.map(program), ...ALL.map(upload)];
    const line = (path: string, name: string) => `${sumOf(path).slice(7)}  ${name}\n`;
    const path = 'dist/tool_linux_amd64_v1/tool';
    const listed = { 'dist/checksums.txt': line(path, 'tool-linux-amd64') };
    const { taken, findings } = await read(made, listed);
    expect(taken).toEqual([
      'tool-darwin-all darwin universal',
      'tool-linux-amd64 linux x86_64',
      'tool-linux-arm linux armv6',
      'tool-windows-386 windows i686',
    ]);
    expect(findings).toEqual([]);
    const other = { 'dist/checksums.txt': line('another', 'tool-linux-amd64') };
    await expect(read(made, other)).rejects.toThrow('than checksums.txt says');
  });

  it('has one archive and the programs of the other platforms (Command line)', async () => {
    const { taken } = await read([...ALL.map(program), archive(LINUX)]);
    const packed = 'tool_linux_amd64.tar.gz linux x86_64';
    expect(taken).toEqual(PLAIN.with(1, packed).toSorted());
  });

  it('names the file whose content is another one, and one that is missing (Command line)', async () => {
    const made = [archive(LINUX), archive(MAC)];
    const damaged = { 'dist/tool_linux_amd64.tar.gz': 'damaged' };
    await expect(read(made, damaged)).rejects.toThrow(
      'than artifacts.json says: its content differs',
    );
    rmSync(join(folder.path, 'dist'), { recursive: true });
    const { findings } = await read([...made, { ...archive(WINDOWS), path: 'dist-2/tool.tar.gz' }]);
    expect(findings).toMatchObject([{ path: 'artifacts.json', severity: 'error' }]);
  });

  it('has the program for every processor, not that for later ones beside it (Command line)', async () => {
    const later = { ...LINUX, goamd64: 'v3', target: 'linux_amd64_v3' };
    const { taken, passedOver } = await read([program(later), program(LINUX)]);
    expect(taken).toEqual(['tool_linux_amd64_v1/tool linux x86_64']);
    expect(passedOver).toContain(
      'dist/tool_linux_amd64_v3/tool: needs goamd64 v3, and one for v1 is beside it',
    );
    rmSync(join(folder.path, 'dist'), { recursive: true });
    expect((await read([program(later)])).taken).toEqual(['tool_linux_amd64_v3/tool linux x86_64']);
  });

  it('of another version is refused, and a list of another tool tells nothing (Command line)', async () => {
    const words = 'metadata.json is of version 1.4.0, not of 1.5.0';
    await expect(read(ALL.map(program), {}, '1.5.0')).rejects.toThrow(words);
    rmSync(join(folder.path, 'dist'), { recursive: true });
    const other = { 'dist/artifacts.json': '{ "files": ["a"] }', 'dist/a-linux-x64.zip': 'a' };
    expect((await read([], other)).taken).toEqual(['a-linux-x64.zip linux x86_64']);
  });
});

it('a second run finds each of several programs with one name in its folder (Command line)', () => {
  const of = (...sums: readonly string[]) =>
    ['linux_amd64_v1', 'linux_arm_6'].map((target, at) => ({
      ...{ platform: 'linux', sha512: String(sums[at]) },
      url: `https://dl.example.com/1.4.0/tool_${target}/tool`,
    }));
  const before = { notes: '', artifacts: of('a', 'b') };
  const again = { notes: undefined, artifacts: of('a', 'b').toReversed() };
  expect(differenceOf(before, again)).toBeUndefined();
  const words = 'its tool_linux_arm_6/tool has another SHA-512';
  expect(differenceOf(before, { notes: undefined, artifacts: of('a', 'c') })).toBe(words);
});
