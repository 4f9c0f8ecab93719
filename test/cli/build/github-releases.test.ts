// Tests the forms in which answers of GitHub about releases are saved, and what is said of other files
// (docs/operating/commands.md).

import { expect, it } from 'vitest';
import { readGithubReleases } from '../../../src/cli/build/github-releases.ts';
import { BuildFolder } from '../../support/build-folder.ts';

const folder = new BuildFolder();
const read = (content: string | Buffer) =>
  readGithubReleases(folder.write('releases.json', content));

const URL = 'https://github.com/acme/notes/releases/download/v1/a.zip';
const DIGEST = `sha256:${'ab'.repeat(32)}`;

function release(tag: string) {
  return {
    ...{ url: 'https://api.github.com/x', tag_name: tag, draft: false, prerelease: false },
    ...{ body: 'notes with [ "brackets" } and \\ in them', created_at: '2026-01-01T00:00:00Z' },
    ...{ published_at: '2026-01-02T00:00:00Z', author: { login: 'a' } },
    assets: [
      { name: 'a.zip', state: 'uploaded', size: 3, browser_download_url: URL, digest: DIGEST },
    ],
  };
}

const [ONE, TWO, THREE] = ['v1', 'v2', 'v3'].map(release);
const text = JSON.stringify;
const wide = (value: unknown) => JSON.stringify(value, null, 2);
const NOT_FOUND =
  'GitHub answered "Not Found": OWNER/REPO is another one, or is private and asks for a token';
const LIMITED = 'call it with a token (gh auth login), or in an hour';

it.each<[form: string, content: string | Buffer, tags: string]>([
  ['a page', text([ONE, TWO]), 'v1 v2'],
  ['pages in a list (--paginate --slurp)', text([[ONE, TWO], [THREE]]), 'v1 v2 v3'],
  ['pages one behind the other', `${text([ONE, TWO])}${text([THREE])}`, 'v1 v2 v3'],
  ['with line breaks, and indented', `${wide([ONE])}\r\n\n${wide([TWO])}\n`, 'v1 v2'],
  ['one release (releases/latest)', text(ONE), 'v1'],
  ["JSON lines (--jq '.[]')", `${text(ONE)}\n${text(TWO)}\n`, 'v1 v2'],
  ['a release indented behind another', `${wide(ONE)}${text(TWO)}`, 'v1 v2'],
  ['no releases', '[]', ''],
  ['pages without releases', '[[]]', ''],
  ['a byte order mark', `\ufeff${text([ONE])}`, 'v1'],
  ['UTF-16', Buffer.from(`\ufeff${text([ONE])}${text([TWO])}`, 'utf16le'), 'v1 v2'],
])('an answer is read: %s (Command line)', (_form, content, tags) => {
  const { releases } = read(content);
  expect(releases.map(({ tag_name }) => tag_name).join(' ')).toBe(tags);
  for (const { body, assets } of releases) {
    expect([body, assets[0]?.browser_download_url]).toEqual([ONE?.body, URL]);
  }
});

it('what `gh release view --json` writes is read, in its names (Command line)', () => {
  const asset = { name: 'a.zip', state: 'uploaded', size: 3, url: URL, digest: DIGEST };
  const viewed = {
    ...{ tagName: 'v1', isDraft: false, isPrerelease: true, body: 'notes' },
    ...{ createdAt: '2026-01-01T00:00:00Z', publishedAt: '2026-01-02T00:00:00Z' },
    assets: [{ ...asset, apiUrl: 'x' }],
  };
  const { assets, published_at } = release('v1');
  const named = { tag_name: 'v1', draft: false, prerelease: true, body: 'notes' };
  for (const content of [viewed, [viewed]]) {
    expect(read(text(content)).releases).toMatchObject([{ ...named, assets, published_at }]);
  }
});

const NO_ANSWER = "is no answer of GitHub's releases: ";

it.each<[content: string, words: string]>([
  ['{"message":"Not Found","documentation_url":"https://docs.github.com"}', NOT_FOUND],
  [
    ...(['{"message":"Bad credentials","status":"401"}'] as const),
    'GitHub answered "Bad credentials": its token is wrong or has expired (gh auth login)',
  ],
  ['{"message":"API rate limit exceeded for 1.2.3.4. (But here\'s the good news…)"}', LIMITED],
  ['{"message":"Server Error"}', 'GitHub answered "Server Error"'],
  [`${text([ONE])}{"message":"Not Found"}`, 'GitHub answered "Not Found"'],
  [
    '[{ "tagName": "v1", "isDraft": false, "isPrerelease": false, "createdAt": "" }]',
    'tells no files',
  ],
  ['[{ "tagName": "v1", "assets": [] }]', `${NO_ANSWER}[0].isDraft must be true or false`],
  ['[{ "tag_name": "v1", "draft": "no" }]', `${NO_ANSWER}[0].draft must be true or false`],
  [`${text([ONE])}[{ "tag_name": 1 }]`, `${NO_ANSWER}[1].tag_name must be a text`],
  ['{}', 'is no list of releases'],
  ['[1]', 'is no list of releases'],
  ['null', 'is no list of releases'],
  ['', 'is empty'],
  [' \n', 'is empty'],
  ['<!DOCTYPE html>\n<html>', 'is a web page'],
  ['HTTP/2.0 200 OK\r\nContent-Type: application/json\r\n\r\n[]', 'leave out --include'],
  ['not json', 'cannot read'],
  [`${text([ONE]).slice(0, -2)}`, 'it ends in the middle'],
  [`${text([ONE])}]`, 'cannot read'],
  [`${text([ONE])} and more`, 'cannot read'],
])('what is no answer is refused with what to do: %s (Command line)', (content, words) => {
  expect(() => read(content)).toThrow(words);
  expect(() => read(content)).toThrow(`${folder.path}/releases.json`);
});

it('a page may be the first of several when it is full and alone (Command line)', () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => release(`v${index}`));
  const lines = many(30).map((each) => text(each));
  const counts = [many(30), many(100), many(29), [many(30)]].map(
    (page) => read(text(page)).fullPage,
  );
  expect(counts).toEqual([30, 100, undefined, undefined]);
  expect(read(lines.join('\n')).fullPage).toBe(30);
  for (const second of ['[]', text(many(30))]) {
    expect(read(`${text(many(30))}${second}`).fullPage).toBeUndefined();
  }
});
