// Tests the release-notes feeds as they are written: which releases and artifacts are in them, RSS by the
// rules of feedvalidator and as a reader shows it, and who has a feed already (docs/contract.md 4.9, 4.10
// and 16.9 to 16.11). Hostile notes are tested in test/updater/hostile-notes.test.ts.

import Parser from 'rss-parser';
import { describe, expect, it } from 'vitest';
import type { Artifact } from '../../src/contract/resource.ts';
import type { SnapshotRelease } from '../../src/domain/decision/serving-snapshot.ts';
import {
  RSS_RELEASE_NOTES,
  releaseNotesOf,
  writeAppcast,
} from '../../src/http/notes/feed-formats.ts';
import { notesHtml } from '../../src/http/notes/notes-html.ts';
import { conditionalReply, tagBody } from '../../src/http/transport/reply.ts';
import { ANY_ARCH, release, snapshot } from '../domain/sample.ts';
import { feedBreaches } from '../support/feed-rules.ts';

const BASE = 'https://updates.example.com';
const OCTETS = 'application/octet-stream';
const WRITTEN =
  'https://xn--exmple-cua.com/%C3%BC/%22%3C%3E%7B%7D%7C%5E%60/?q=%C3%A4%7B%7C%7D%22#%C3%A9';

describe('the releases of a feed', () => {
  const all = Array.from({ length: 52 }, (_, index) => release(`1.${index}.0`));
  const paused = release('1.51.0', { status: 'paused' });
  const newest = all.map(({ version }) => version).toReversed();
  const order = ['1.0.0', '3.0.0', '2.0.0', '2.0.0-rc.1', '0.1'];

  it.each<[what: string, releases: readonly SnapshotRelease[], versions: readonly string[]]>([
    ['in the order of their creation', order.map((text) => release(text)), order.toReversed()],
    ...(['paused', 'deprecated', 'rolled_back'] as const).map(
      (status): [string, SnapshotRelease[], string[]] => [status, [release('1', { status })], []],
    ),
    ['those of the channel itself', [release('1.0.0', { followed: true })], []],
    ['the newest 50', all, newest.slice(0, 50)],
    ['the next as one goes', all.with(-1, paused), newest.slice(1, 51)],
  ])('are the newest first that are published: %s', (_, releases, versions) => {
    const listed = releaseNotesOf(snapshot(releases)).releases;
    expect(listed.map(({ version }) => version)).toEqual(versions);
  });

  it("have the contract's fields, with the notes as published, and addresses in ASCII (§4.9, §2.2)", () => {
    const told = { platform: 'linux', arch: 'arm', sha512: 'abc', size: 12, signature: 's' };
    const untold = { sha256: 'x', sha1: 'x', buildVersion: '1', minimumSystemVersion: '10' };
    const artifacts = [{ ...told, url: 'https://a.b/ü', ...untold }, { platform: 'windows' }];
    const targets = { matchLabels: { tier: ['gold'] }, matchExpressions: [] };
    const served = release('v2.0', { notes: '<b> \u0001 ]]>', artifacts, targets, rolloutPct: 40 });
    expect(releaseNotesOf(snapshot([served]))).toStrictEqual({
      ...{ app: 'acme', channel: 'stable' },
      releases: [
        {
          ...{ id: 'rel-v2.0', app: 'acme', channel: 'stable', version: 'v2.0' },
          ...{ notes: '<b> \u0001 ]]>', status: 'published', rolloutPct: 40 },
          createdAt: '2026-01-02T03:04:05.678Z',
          artifacts: [{ ...told, url: 'https://a.b/%C3%BC' }, { platform: 'windows' }],
        },
      ],
    });
  });
});

describe('the RSS feed', () => {
  /** Returns the feed of these releases as a reader parses it, after checking every rule. */
  async function read(served: readonly SnapshotRelease[]) {
    const { app, channel, releases } = releaseNotesOf(snapshot(served));
    const head = { app, channel, newestAt: releases[0]?.createdAt, address: BASE };
    const { open, item, close } = RSS_RELEASE_NOTES;
    const items = releases.map((each) => item(head, each, notesHtml));
    const text = [open(head), ...items, close].join('');
    expect(await feedBreaches(text, `${BASE}/feed/acme/stable/rss.xml`)).toEqual([]);
    return new Parser<{ lastBuildDate?: string }, object>().parseString(text);
  }

  /** Returns the item of a release with these notes and artifacts. */
  async function itemOf(artifacts: readonly Artifact[], notes = '') {
    return (await read([release('1.0.0', { artifacts, notes })])).items[0];
  }

  it('has title, link, description, a link to itself, and its releases with their dates (§4.10)', async () => {
    const { lastBuildDate, items } = await read([]);
    expect([items, lastBuildDate]).toEqual([[], undefined]);
    const versions = ['2.0', '1.0.0-beta.1+build.5', 'v3'];
    const feed = await read(
      versions.map((version, day) =>
        release(version, { notes: version, createdAt: `2026-01-0${day + 1}T03:04:05.678Z` }),
      ),
    );
    const days = ['Thu, 01', 'Fri, 02', 'Sat, 03'].map((day) => `${day} Jan 2026 03:04:05 GMT`);
    const told = versions.map((version, day) => ({
      ...{ guid: `acme:stable:${version}`, title: `acme ${version}`, pubDate: days[day] },
      content: expect.stringContaining(`<p>${version}</p>`),
    }));
    expect(feed).toMatchObject({
      ...{ title: 'acme stable', link: `${BASE}/feed/acme/stable` },
      description: 'Releases of acme on the channel stable',
      feedUrl: `${BASE}/feed/acme/stable/rss.xml`,
      ...{ lastBuildDate: days[2], items: told.toReversed() },
    });
  });

  it('has notes as HTML made from their Markdown, without comments, as appcasts have (§16.10)', async () => {
    const notes = '<!-- by hand -->\n\n# News\n\n- **a** & `<b>`\n- [c](https://d.e/)';
    const html = [
      '<h1>News</h1>\n<ul>\n<li><strong>a</strong> &amp; <code>&lt;b&gt;</code></li>\n',
      '<li><a href="https://d.e/" rel="noopener noreferrer nofollow">c</a></li>\n</ul>',
    ].join('');
    expect((await itemOf([], notes))?.content).toBe(html);
    const item = { version: '1.0.0', artifact: ANY_ARCH, release: release('1.0.0', { notes }) };
    const appcast = { app: 'acme', channel: 'stable', file: 'appcast.xml', item } as const;
    const { items } = await new Parser().parseString(writeAppcast(appcast, BASE, notesHtml));
    expect(items[0]?.content).toBe(html);
  });

  it('has every artifact as a link below the notes', async () => {
    const item = await itemOf([
      { platform: 'darwin', arch: 'aarch64', url: 'https://a.b/mac.dmg?x=1&y=2' },
      { platform: '<b>odd</b>' },
    ]);
    const rel = 'rel="noopener noreferrer nofollow"';
    expect(item?.content).toBe(
      `<ul><li><a href="https://a.b/mac.dmg?x=1&amp;y=2" ${rel}>darwin aarch64</a></li>` +
        '<li>&lt;b&gt;odd&lt;/b&gt;</li></ul>',
    );
  });

  it.each<[type: string, url: string, size?: number, written?: string]>([
    ['application/gzip', 'https://a.b/x.tar.gz', 12],
    ['application/x-apple-diskimage', 'https://a.b/x.DMG'],
    ['application/vnd.microsoft.portable-executable', 'https://a.b/X%20Setup.exe?t=.zip', 0],
    [OCTETS, 'http://a.b/none', Number.MAX_SAFE_INTEGER],
    [OCTETS, 'https://a.b', 1, 'https://a.b/'],
    [OCTETS, `https://exämple.com/ü/"<>{}|^\`\\?q=ä{|}"#é`, 1, WRITTEN],
  ])('has the only artifact as the enclosure, %s: %s', async (type, url, size, written = url) => {
    const artifact = { platform: 'linux', url, ...(size === undefined ? {} : { size }) };
    const { enclosure } = (await itemOf([artifact])) ?? {};
    expect(enclosure).toMatchObject({ url: written, type, length: String(size ?? 0) });
  });

  it.each<[what: string, artifacts: readonly Artifact[], url: string | undefined]>([
    ['several artifacts', [ANY_ARCH, { ...ANY_ARCH, arch: 'aarch64' }], undefined],
    ['none', [], undefined],
    ['none with an address', [{ platform: 'linux' }], undefined],
    ['one with an address', [ANY_ARCH, { platform: 'windows' }], ANY_ARCH.url],
  ])('has one enclosure at most, which readers download: of %s', async (_, artifacts, url) => {
    expect((await itemOf(artifacts))?.enclosure?.url).toBe(url);
  });
});

describe('a reader that has a feed already', () => {
  const body = tagBody(Buffer.from('feed'));
  const { etag } = body;
  const headers = [['Cache-Control', 'public']] as const;

  it.each([
    ...[etag, `W/${etag}`, `"other", W/"a,b" , ${etag}`, '*', ' * '].map((each) => [each, true]),
    ...['"other"', etag.slice(1, -1), '', '"', `"${etag.slice(1, 9)}"`, 'W/*'].map((each) => [
      each,
      false,
    ]),
    [undefined, false],
  ] as [string | undefined, boolean][])('that has %s has this one: %s', (known, isKnown) => {
    const tagged = [...headers, ['ETag', etag]];
    const whole = { status: 200, contentType: 'text/xml', headers: tagged, body: body.bytes };
    const expected = isKnown ? { status: 304, headers: tagged } : whole;
    expect(conditionalReply(known, body, 'text/xml', headers)).toEqual(expected);
  });

  it('has the tag of its bytes', () => {
    expect(etag).toMatch(/^"[\w-]{43}"$/);
    expect(tagBody(Buffer.from('feed')).etag).toBe(etag);
    expect(tagBody(Buffer.from('fee')).etag).not.toBe(etag);
  });
});
