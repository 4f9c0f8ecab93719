// Tests the release-notes feed as RSS 2.0 (docs/contract.md 4.10 and 16.10): the rules of feedvalidator, and
// the content that a reader shows. Hostile and long notes are in hostile-notes.test.ts.

import Parser from 'rss-parser';
import { expect, it } from 'vitest';
import { feedBreaches } from '../support/feed-rules.ts';
import { release, tenantWith } from '../support/released.ts';
import { deviceSuite } from '../support/service-suite.ts';
import { ARTIFACT, createTenant, send, type Tenant } from '../support/tenant.ts';

deviceSuite('the RSS feed', (node) => {
  /** Returns the feed as a reader parses it, after checking every rule. */
  async function read({ app }: Tenant) {
    const path = `/feed/${app}/stable/rss.xml`;
    const { status, text, headers } = await send(node, 'GET', path);
    expect([status, headers.get('content-type')]).toEqual([
      200,
      'application/rss+xml; charset=utf-8',
    ]);
    expect(await feedBreaches(text, node.url + path)).toEqual([]);
    const parser = new Parser<{ lastBuildDate?: string }, object>();
    return { ...(await parser.parseString(text)), text };
  }

  /** Publishes a release in a new app and returns the feed's only item. */
  async function itemOf(more: Record<string, unknown>) {
    const { items } = await read(await tenantWith(node, ['1.0.0', more]));
    expect(items).toHaveLength(1);
    return items[0];
  }

  it('has title, link, description, a link to itself, and its releases with their dates (§4.10)', async () => {
    const tenant = await createTenant(node);
    const { lastBuildDate, ...empty } = await read(tenant);
    expect([empty.items, lastBuildDate]).toEqual([[], undefined]);
    const versions = ['2.0', '1.0.0-beta.1+build.5', 'v3'];
    const dates: string[] = [];
    for (const version of versions) {
      const { createdAt } = await release(node, tenant, version, { notes: `Notes of ${version}` });
      dates.push(new Date(String(createdAt)).toUTCString());
    }
    const { app } = tenant;
    const feed = await read(tenant);
    expect(feed).toMatchObject({
      title: `${app} stable`,
      link: `${node.url}/feed/${app}/stable`,
      description: `Releases of ${app} on the channel stable`,
      feedUrl: `${node.url}/feed/${app}/stable/rss.xml`,
      lastBuildDate: dates.at(-1),
      items: versions
        .map((version, index) => ({
          guid: `${app}:stable:${version}`,
          title: `${app} ${version}`,
          pubDate: dates[index],
          content: expect.stringContaining(`<p>Notes of ${version}</p>`),
        }))
        .toReversed(),
    });
  });

  it('notes are HTML made from their Markdown', async () => {
    const item = await itemOf({ notes: '# News\n\n- **a** & `<b>`\n- [c](https://d.e/)' });
    expect(item?.content).toContain('<h1>News</h1>');
    expect(item?.content).toContain('<li><strong>a</strong> &amp; <code>&lt;b&gt;</code></li>');
    expect(item?.content).toContain(
      '<a href="https://d.e/" rel="noopener noreferrer nofollow">c</a>',
    );
  });

  it('every artifact is a link below the notes', async () => {
    const artifacts = [
      { platform: 'darwin', arch: 'aarch64', url: 'https://a.b/mac.dmg?x=1&y=2' },
      { platform: 'windows', url: 'https://a.b/setup.exe' },
      { platform: '<b>odd</b>' },
    ];
    const item = await itemOf({ artifacts });
    expect(item?.content).toContain('href="https://a.b/mac.dmg?x=1&amp;y=2"');
    expect(item?.content).toContain('>darwin aarch64</a>');
    expect(item?.content).toContain('href="https://a.b/setup.exe"');
    expect(item?.content).toContain('&lt;b&gt;odd&lt;/b&gt;');
  });

  it.each([
    ['https://a.b/x.tar.gz', 12, 'application/gzip', '12'],
    ['https://a.b/x.DMG', undefined, 'application/x-apple-diskimage', '0'],
    ['https://a.b/X%20Setup.exe?t=.zip', 0, 'application/vnd.microsoft.portable-executable', '0'],
    [
      'http://a.b/noextension',
      Number.MAX_SAFE_INTEGER,
      'application/octet-stream',
      '9007199254740991',
    ],
    ['https://a.b', 1, 'application/octet-stream', '1'],
  ])('the only artifact is the enclosure: %s', async (url, size, type, length) => {
    const item = await itemOf({ artifacts: [{ ...ARTIFACT, url, size }] });
    expect(item?.enclosure).toMatchObject({ url: new URL(url).href, type, length });
  });

  it('an address that feeds do not allow is written so that they do', async () => {
    const url = 'https://exämple.com/ü/"<>{}|^`\\?q=ä{|}"#é';
    const item = await itemOf({ artifacts: [{ platform: 'linux', url }] });
    expect(new URL(item?.enclosure?.url ?? '').hostname).toBe('xn--exmple-cua.com');
  });

  it('of several artifacts none is the enclosure: RSS has one per item, readers download it', async () => {
    const artifacts = [ARTIFACT, { ...ARTIFACT, arch: 'aarch64' }];
    expect((await itemOf({ artifacts }))?.enclosure).toBeUndefined();
    expect((await itemOf({ artifacts: [] }))?.enclosure).toBeUndefined();
    expect((await itemOf({ artifacts: [{ platform: 'linux' }] }))?.enclosure).toBeUndefined();
    const oneAddress = [ARTIFACT, { platform: 'windows' }];
    expect((await itemOf({ artifacts: oneAddress }))?.enclosure?.url).toBe(ARTIFACT.url);
  });
});
