// Tests the feed rules themselves: a valid feed has no breach, and each breach is found.

import { describe, expect, it } from 'vitest';
import { feedBreaches, htmlBreaches } from './feed-rules.ts';

const URL_FETCHED = 'https://example.com/feed/app/stable/rss.xml';
const GUID = '<guid isPermaLink="false">app:1.0</guid>';
const SOUND = `<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
<title>App</title><link>https://example.com/feed</link><description/>
<atom:link rel="self" type="application/rss+xml" href="${URL_FETCHED}"/>
<lastBuildDate>Fri, 02 Jan 2026 03:04:05 GMT</lastBuildDate>
<item><title>1.0</title>${GUID}
<pubDate>Fri, 02 Jan 2026 03:04:05 GMT</pubDate><description>&lt;p&gt;Hi&lt;/p&gt;</description>
<enclosure url="https://example.com/a.zip" length="0" type="application/zip"/></item>
</channel></rss>`;

describe('the feed rules', () => {
  it('find nothing in a sound feed', async () => {
    expect(await feedBreaches(SOUND, URL_FETCHED)).toEqual([]);
  });

  it.each([
    ['<title>App</title>', '', 'has not one title'],
    ['<link>https://example.com/feed</link>', '<link>/feed</link>', 'link is no absolute URL'],
    ['<description/>', '', 'has not one description'],
    ['rel="self"', 'rel="alternate"', 'has no atom:link to where it came from'],
    ['>Fri, 02 Jan', '>Thu, 02 Jan', 'lastBuildDate has the wrong weekday'],
    ['Date>Fri, 02 Jan 2026 03:04:05 GMT', 'Date>2026-01-02T03:04:05Z', 'is no RFC 822 date'],
    ['Date>Fri, 02 Jan 2026', 'Date>Fri, 02 Jan 2082', 'lastBuildDate is to come'],
    ['<title>1.0</title>', '<title>&lt;b&gt;1.0</title>', 'item 0: HTML in the title'],
    [' isPermaLink="false"', '', 'item 0: guid is no URL and says it is'],
    ['"false"', '"no"', 'item 0: isPermaLink is neither true nor false'],
    ['length="0"', 'length="-1"', 'item 0: enclosure without length'],
    ['url="https://example.com/a.zip"', 'url="a.zip"', 'item 0: enclosure without url'],
    [' type="application/zip"', '', 'item 0: enclosure without type'],
    ['<enclosure', '<enclosure/><enclosure', 'item 0: more than one enclosure'],
    ['<item>', `<item><title>x</title>${GUID}</item><item>`, 'guid is repeated'],
    ['Hi', '\u0007', 'holds a character that XML does not have'],
    ['&lt;p&gt;Hi', '&lt;script&gt;', 'unsafe tag <script>'],
  ])('find %s replaced by %s', async (part, replacement, breach) => {
    expect(SOUND).toContain(part);
    const breaches = await feedBreaches(SOUND.replace(part, replacement), URL_FETCHED);
    expect(breaches.join('; ')).toContain(breach);
  });

  it('find what could act, and throw for what is not well-formed', async () => {
    const acting = ['<p onclick="x">', '<img src="http://a/">', '<a href="javascript:x">a</a>'];
    for (const html of [...acting, '<script']) expect(htmlBreaches(html)).not.toEqual([]);
    for (const [part, replacement] of [
      ['</item>', ''],
      ['1.0<', '1 & 0<'],
      ['</rss>', '</rss><rss/>'],
    ] as const) {
      const broken = SOUND.replace(part, replacement);
      await expect(feedBreaches(broken, URL_FETCHED)).rejects.toThrow();
    }
  });
});
