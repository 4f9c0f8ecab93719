// Release-notes feed as RSS 2.0 (docs/contract.md 4.10), in a form in which feedvalidator finds neither
// errors nor anything to warn of.

import { create, fragment } from 'xmlbuilder2';
import { parseUrl } from '../../contract/parse-url.ts';
import type { Artifact, Release } from '../../contract/resource.ts';
import { escapeHtml } from './escape-html.ts';
import { mediaTypeOf } from './media-type.ts';
import type { FeedHead, ReleaseNotesFormat, WriteNotes } from './release-notes.ts';

const ATOM = 'http://www.w3.org/2005/Atom';
const MINUTES_TO_LIVE = '1';
/** Characters that XML does not allow, not even escaped: one of them would make the whole feed unreadable. */
const OPTIONS = { invalidCharReplacement: '' };
const END = '</channel></rss>';
/** Characters that the URL class accepts and RFC 3986 does not. */
const NOT_IN_ADDRESSES = /[\\^`{|}]/g;

type Xml = ReturnType<typeof fragment>;

export const RSS_RELEASE_NOTES: ReleaseNotesFormat = {
  open: (feed) => openChannel(feed, `${feed.address}/feed/${feed.app}/${feed.channel}`),
  item: writeItem,
  separator: '',
  close: END,
};

/**
 * Writes the document up to the first item. The self link names the app by its ref, even when the request
 * used its id.
 */
function openChannel({ app, channel, newestAt }: FeedHead, link: string): string {
  const document = create({ version: '1.0', encoding: 'UTF-8', ...OPTIONS });
  const rss = document.ele('rss', { version: '2.0' });
  rss.att('http://www.w3.org/2000/xmlns/', 'xmlns:atom', ATOM);
  const head = rss.ele('channel');
  addText(head, 'title', `${app} ${channel}`);
  addText(head, 'link', link);
  addText(head, 'description', `Releases of ${app} on the channel ${channel}`);
  const self = { rel: 'self', type: 'application/rss+xml', href: literal(`${link}/rss.xml`) };
  head.ele(ATOM, 'atom:link', self);
  // Taken from the releases rather than the clock, so that every node answers the same bytes with the same
  // entity tag.
  if (newestAt !== undefined) addText(head, 'lastBuildDate', dateText(newestAt));
  addText(head, 'ttl', MINUTES_TO_LIVE);
  return document.end().slice(0, -END.length);
}

function writeItem({ app, channel }: FeedHead, release: Release, toHtml: WriteNotes): string {
  const { version, notes, createdAt, artifacts } = release;
  const item = fragment(OPTIONS).ele('item');
  addText(item, 'title', `${app} ${version}`);
  // The parts never change, and none but the last can contain a colon.
  item.ele('guid', { isPermaLink: 'false' }).txt(`${app}:${channel}:${version}`);
  addText(item, 'pubDate', dateText(createdAt));
  addText(item, 'description', [toHtml(notes), artifactsHtml(artifacts)].join(''));
  addEnclosure(item, artifacts);
  return item.toString();
}

/** Adds an enclosure only for a single artifact: RSS allows one per item, and readers download it unasked. */
function addEnclosure(item: Xml, artifacts: readonly Artifact[]): void {
  const [artifact, ...others] = artifacts.filter(({ url }) => addressOf(url) !== undefined);
  const url = addressOf(artifact?.url);
  if (url === undefined || others.length > 0) return;
  const length = String(artifact?.size ?? 0);
  item.ele('enclosure', { url: literal(url), length, type: mediaTypeOf(url) });
}

/** Writes every artifact as a link, so that the RSS item tells people what the JSON feed contains. */
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

/** Returns an artifact's URL in ASCII, as feeds require it; undefined when it is not an http(s) URL. */
function addressOf(url: string | undefined): string | undefined {
  if (url === undefined || !/^https?:/i.test(url)) return undefined;
  return parseUrl(url)?.href.replace(NOT_IN_ADDRESSES, encodeURIComponent);
}

/** Formats a date by RFC 822 with a four-digit year: `Fri, 02 Jan 2026 03:04:05 GMT`. */
function dateText(iso: string): string {
  return new Date(iso).toUTCString();
}

function addText(parent: Xml, name: string, text: string): void {
  parent.ele(name).txt(literal(text));
}

/**
 * Escapes ampersands before xmlbuilder2 does, because it leaves apparent entities as they are:
 * `&lt;script&gt;`, which displays "<script>" in HTML, would become the element itself.
 */
function literal(text: string): string {
  return text.replaceAll('&', '&amp;');
}
