// The release-notes feed as RSS 2.0 (contract 4.10), by the rules of feedvalidator: what it calls an error
// does not occur, and neither does what it warns of.

import { create, fragment } from 'xmlbuilder2';
import type { Artifact, Release } from '../../contract/resource.ts';
import { escapeHtml } from './escape-html.ts';
import { mediaTypeOf } from './media-type.ts';
import { notesHtml } from './notes-html.ts';
import type { FeedFormat, ReleaseFeed } from './release-feed.ts';

const ATOM = 'http://www.w3.org/2005/Atom';
const MINUTES_TO_LIVE = '1';
/** One control character would make the whole feed unreadable: XML has none, not even escaped. */
const OPTIONS = { invalidCharReplacement: '' };
const END = '</channel></rss>';
/** What URLs take and RFC 3986 does not. */
const NOT_IN_ADDRESSES = /[\\^`{|}]/g;

type Xml = ReturnType<typeof fragment>;

/** `address` is where the service can be called, without a slash at its end. */
export function rssFeed(address: () => string): FeedFormat {
  return {
    contentType: 'application/rss+xml; charset=utf-8',
    open: (feed) => openChannel(feed, `${address()}/feed/${feed.app}/${feed.channel}`),
    item: (feed, release) => writeItem(feed, release),
    separator: '',
    close: END,
  };
}

/** Up to where the items begin. The app is addressed by its ref, however it was asked for. */
function openChannel({ app, channel, releases }: ReleaseFeed, link: string): string {
  const document = create({ version: '1.0', encoding: 'UTF-8', ...OPTIONS });
  const rss = document.ele('rss', { version: '2.0' });
  rss.att('http://www.w3.org/2000/xmlns/', 'xmlns:atom', ATOM);
  const head = rss.ele('channel');
  addText(head, 'title', `${app} ${channel}`);
  addText(head, 'link', link);
  addText(head, 'description', `Releases of ${app} on the channel ${channel}`);
  const self = { rel: 'self', type: 'application/rss+xml', href: literal(`${link}/rss.xml`) };
  head.ele(ATOM, 'atom:link', self);
  const [newest] = releases;
  // From the releases, not from the clock: every node says the same, with the same tag.
  if (newest !== undefined) addText(head, 'lastBuildDate', dateText(newest.createdAt));
  addText(head, 'ttl', MINUTES_TO_LIVE);
  return document.end().slice(0, -END.length);
}

function writeItem({ app, channel }: ReleaseFeed, release: Release): string {
  const { version, notes, createdAt, artifacts } = release;
  const item = fragment(OPTIONS).ele('item');
  addText(item, 'title', `${app} ${version}`);
  // Made of names that never change, none of which has a colon but perhaps the last.
  item.ele('guid', { isPermaLink: 'false' }).txt(`${app}:${channel}:${version}`);
  addText(item, 'pubDate', dateText(createdAt));
  addText(item, 'description', [notesHtml(notes), artifactsHtml(artifacts)].join(''));
  addEnclosure(item, artifacts);
  return item.toString();
}

/** RSS has one enclosure per item, for readers that download it: none is better than another platform's. */
function addEnclosure(item: Xml, artifacts: readonly Artifact[]): void {
  const [artifact, ...others] = artifacts.filter(({ url }) => addressOf(url) !== undefined);
  const url = addressOf(artifact?.url);
  if (url === undefined || others.length > 0) return;
  const length = String(artifact?.size ?? 0);
  item.ele('enclosure', { url: literal(url), length, type: mediaTypeOf(url) });
}

/** Every artifact as a link: what the JSON feed tells, for people. */
function artifactsHtml(artifacts: readonly Artifact[]): string {
  if (artifacts.length === 0) return '';
  const items = artifacts.map(({ platform, arch, url }) => {
    const name = escapeHtml(arch === undefined ? platform : `${platform} ${arch}`);
    const address = addressOf(url);
    if (address === undefined) return `<li>${name}</li>`;
    return `<li><a href="${escapeHtml(address)}" rel="noopener noreferrer nofollow">${name}</a></li>`;
  });
  return `<ul>${items.join('')}</ul>`;
}

/** An artifact's address in ASCII, as feeds demand it; undefined when it is none for the web. */
function addressOf(url: string | undefined): string | undefined {
  if (url === undefined || !/^https?:/i.test(url) || !URL.canParse(url)) return undefined;
  return new URL(url).href.replace(NOT_IN_ADDRESSES, encodeURIComponent);
}

/** RFC 822, with a year of four digits: `Fri, 02 Jan 2026 03:04:05 GMT`. */
function dateText(iso: string): string {
  return new Date(iso).toUTCString();
}

function addText(parent: Xml, name: string, text: string): void {
  parent.ele(name).txt(literal(text));
}

/**
 * xmlbuilder2 takes what looks like an entity for one and leaves it as it is: `&lt;script&gt;`, which says
 * "<script>" in HTML, would come out as the element itself.
 */
function literal(text: string): string {
  return text.replaceAll('&', '&amp;');
}
