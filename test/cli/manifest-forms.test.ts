// Tests the forms in which build tools and people write what the command reads beside the files of a build:
// manifests, checksums and signatures (docs/operating/commands.md).

import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readNotes } from '../../src/cli/call/text-file.ts';
import { BuildFolder } from '../support/build-folder.ts';
import type { Folder } from '../support/build-folders.ts';

const folder = new BuildFolder();
const read = (files: Folder, version = '1.2.3') => folder.read(files, version);

const APP = 'Notes-1.2.3.AppImage';

function sumOf(algorithm: 'sha256' | 'sha512', encoding: 'hex' | 'base64', content = APP): string {
  return createHash(algorithm).update(content).digest(encoding);
}

it('the sum of an update file is base64 or hexadecimal, and may end with a line break (Command line)', async () => {
  const [base64, hex] = [sumOf('sha512', 'base64'), sumOf('sha512', 'hex')];
  for (const sum of [base64, `|\n      ${base64}`, hex, hex.toUpperCase(), `${base64} `]) {
    const update = `version: 1.2.3\nfiles:\n  - url: ${APP}\n    sha512: ${sum}\n`;
    const { artifacts, findings } = await read({ [APP]: APP, 'latest-linux.yml': update });
    expect([artifacts.length, artifacts[0]?.sha512, findings]).toEqual([1, base64, []]);
  }
  const other = sumOf('sha512', 'hex', 'another');
  const update = `version: 1.2.3\nfiles:\n  - url: ${APP}\n    sha512: ${other}\n`;
  await expect(read({ [APP]: APP, 'latest-linux.yml': update })).rejects.toThrow('differs');
});

it.each<[string, (sum: string, name: string) => string]>([
  ['two spaces', (sum, name) => `${sum}  ${name}\n`],
  ['a star for binary', (sum, name) => `${sum} *${name}\r\n`],
  ['the tag of BSD', (sum, name) => `SHA256 (${name}) = ${sum}\n`],
  ['the tag with a folder', (sum, name) => `SHA256 (./${name}) = ${sum}\r\n`],
  ['the tag of OpenSSL', (sum, name) => `SHA256(${name})= ${sum}\n`],
  ['the tag of OpenSSL 3', (sum, name) => `SHA2-256(${name})= ${sum}\n`],
  ['UTF-16 of a Windows shell', (sum, name) => `${sum.toUpperCase()}  ${name}\r\n`],
])('a file of checksums is held to, with %s (Command line)', async (form, line) => {
  const listing = (sum: string): Folder => {
    const text = `# comment\n${line(sum, APP)}`;
    const isWide = form.startsWith('UTF-16');
    const content = isWide ? Buffer.from(`\ufeff${text}`, 'utf16le') : text;
    return { [APP]: APP, 'checksums.txt': content };
  };
  const { artifacts } = await read(listing(sumOf('sha256', 'hex')));
  expect(artifacts.length).toBe(1);
  const other = listing(sumOf('sha256', 'hex', 'another'));
  await expect(read(other)).rejects.toThrow('is another file than checksums.txt says');
});

it.each([
  ...['SHASUMS256.txt', 'sha256.sum', `${APP}.sha256.txt`, `${APP}.sha256sum`],
  ...['checksums-sha256.txt', 'SHA256SUMS'],
])('checksums are held to by the name %s (Command line)', async (name) => {
  const sum = sumOf('sha256', 'hex', 'another');
  for (const before of ['', 'dist/', 'dist\\']) {
    const line = name.startsWith(APP) ? `${sum}\n` : `${sum}  ${before}${APP}\n`;
    const words = `is another file than ${name} says`;
    await expect(read({ [APP]: APP, [name]: line })).rejects.toThrow(words);
  }
});

it('a signature beside a file may be UTF-16, with line breaks of Windows (Command line)', async () => {
  const minisign = 'untrusted comment: a\r\nRUQ\r\ntrusted comment: b\r\nabc=';
  for (const content of [`${minisign}\r\n`, Buffer.from(`\ufeff${minisign}\r\n`, 'utf16le')]) {
    const { artifacts } = await read({ [APP]: APP, [`${APP}.sig`]: content });
    expect(artifacts[0]?.signature).toBe(minisign);
  }
});

it('release notes are UTF-8 or UTF-16; other bytes are refused with what to do (Command line)', () => {
  const path = join(folder.path, 'notes.md');
  const notes = '# Größer\n';
  const wide = () => Buffer.from(`\ufeff${notes}`, 'utf16le');
  for (const bytes of [notes, `\ufeff${notes}`, wide(), wide().swap16()]) {
    writeFileSync(path, bytes);
    expect(readNotes(path)).toBe(notes);
  }
  writeFileSync(path, Buffer.from(notes, 'latin1'));
  expect(() => readNotes(path)).toThrow(`${path} is neither UTF-8 nor UTF-16: save it as UTF-8`);
});

it("an update file has the name of the version's channel (Command line)", async () => {
  const app = 'Notes-1.3.0-rc.1.AppImage';
  const update = (sum: string) =>
    `version: 1.3.0-rc.1\nfiles:\n  - url: ${app}\n    sha512: ${sum}\nminimumSystemVersion: 10.10\n`;
  const files = (sum: string) => ({
    [app]: app,
    'rc-linux.yml': update(sum),
    'other.yml': 'a: 1\n',
  });
  const { artifacts } = await read(files(sumOf('sha512', 'base64', app)), '1.3.0-rc.1');
  expect(artifacts).toMatchObject([{ minimumSystemVersion: '10.10' }]);
  const other = files(sumOf('sha512', 'base64', 'another'));
  await expect(read(other, '1.3.0-rc.1')).rejects.toThrow('than rc-linux.yml says');
});
