// Tests the forms in which answers of GitHub about releases are saved, and what is said of other files
// (docs/operating/commands.md).

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readGithubReleases } from '../../../src/cli/build/github-releases.ts';

let path: string;
beforeAll(() => {
  path = join(mkdtempSync(join(tmpdir(), 'sluice-github-')), 'releases.json');
});
afterAll(() => rmSync(join(path, '..'), { recursive: true, force: true }));

function read(content: string | Buffer) {
  writeFileSync(path, content);
  return readGithubReleases(path);
}

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

describe('an answer is read', () => {
  it.each<[string, string | Buffer, readonly string[]]>([
    ['a page', text([ONE, TWO]), ['v1', 'v2']],
    ['pages in a list (--paginate --slurp)', text([[ONE, TWO], [THREE]]), ['v1', 'v2', 'v3']],
    ['pages one behind the other', `${text([ONE, TWO])}${text([THREE])}`, ['v1', 'v2', 'v3']],
    [
      'with line breaks, and indented',
      `${JSON.stringify([ONE], null, 2)}\r\n\n${JSON.stringify([TWO], null, 2)}\n`,
      ['v1', 'v2'],
    ],
    ['one release (releases/latest)', text(ONE), ['v1']],
    ["JSON lines (--jq '.[]')", `${text(ONE)}\n${text(TWO)}\n`, ['v1', 'v2']],
    [
      'a release indented behind another',
      `${JSON.stringify(ONE, null, 2)}${text(TWO)}`,
      ['v1', 'v2'],
    ],
    ['no releases', '[]', []],
    ['pages without releases', '[[]]', []],
    ['a byte order mark', `\ufeff${text([ONE])}`, ['v1']],
    ['UTF-16', Buffer.from(`\ufeff${text([ONE])}${text([TWO])}`, 'utf16le'), ['v1', 'v2']],
  ])('%s (Command line)', (_form, content, tags) => {
    const { releases } = read(content);
    expect(releases.map(({ tag_name }) => tag_name)).toEqual(tags);
    for (const { body, assets } of releases) {
      expect([body, assets[0]?.browser_download_url]).toEqual([ONE?.body, URL]);
    }
  });

  it('what `gh release view --json` writes, in its names (Command line)', () => {
    const viewed = {
      ...{ tagName: 'v1', isDraft: false, isPrerelease: true, body: 'notes' },
      ...{ createdAt: '2026-01-01T00:00:00Z', publishedAt: '2026-01-02T00:00:00Z' },
      assets: [
        { name: 'a.zip', state: 'uploaded', size: 3, url: URL, digest: DIGEST, apiUrl: 'x' },
      ],
    };
    const { assets, body, published_at } = release('v1');
    expect(read(text(viewed)).releases).toEqual([
      expect.objectContaining({ tag_name: 'v1', draft: false, prerelease: true, body: 'notes' }),
    ]);
    expect(read(text([viewed])).releases[0]).toMatchObject({ assets, published_at });
    expect(body).not.toBe('notes');
  });
});

describe('what is no answer is refused with what to do', () => {
  it.each<[string, string]>([
    [
      '{"message":"Not Found","documentation_url":"https://docs.github.com","status":"404"}',
      'GitHub answered "Not Found": OWNER/REPO is another one, or is private and asks for a token',
    ],
    [
      '{"message":"Bad credentials","status":"401"}',
      'GitHub answered "Bad credentials": its token is wrong or has expired (gh auth login)',
    ],
    [
      '{"message":"API rate limit exceeded for 1.2.3.4. (But here\'s the good news…)"}',
      'call it with a token (gh auth login), or in an hour',
    ],
    ['{"message":"Server Error"}', 'GitHub answered "Server Error"'],
    [`${text([ONE])}{"message":"Not Found"}`, 'GitHub answered "Not Found"'],
    [
      '[{ "tagName": "v1", "isDraft": false, "isPrerelease": false, "createdAt": "" }]',
      'tells no files',
    ],
    [
      '[{ "tagName": "v1", "assets": [] }]',
      "is no answer of GitHub's releases: [0].isDraft must be true or false",
    ],
    [
      '[{ "tag_name": "v1", "draft": "no" }]',
      "is no answer of GitHub's releases: [0].draft must be true or false",
    ],
    [
      `${text([ONE])}[{ "tag_name": 1 }]`,
      "is no answer of GitHub's releases: [1].tag_name must be a text",
    ],
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
  ])('%s (Command line)', (content, words) => {
    expect(() => read(content)).toThrow(words);
    expect(() => read(content)).toThrow(path);
  });
});

describe('a page that may be the first of several', () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => release(`v${index}`));
  it.each<[string, string, number | undefined]>([
    ['30 in one page', text(many(30)), 30],
    ['100 in one page', text(many(100)), 100],
    ['29 in one page', text(many(29)), undefined],
    [
      '30 as lines',
      many(30)
        .map((each) => text(each))
        .join('\n'),
      30,
    ],
    ['30 in slurped pages', text([many(30)]), undefined],
    ['30 and none', `${text(many(30))}[]`, undefined],
    ['two pages of 30', `${text(many(30))}${text(many(30))}`, undefined],
  ])('%s (Command line)', (_form, content, count) => {
    expect(read(content).fullPage).toBe(count);
  });
});
