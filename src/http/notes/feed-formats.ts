// Release-notes feed as RSS 2.0 (docs/contract.md 4.10), in a form in which feedvalidator finds neither
// errors nor anything to warn of.

import { fragment } from 'xmlbuilder2';
import type { Artifact, Release } from '../../contract/resource.ts';
import { escapeHtml } from './escape-html.ts';
import { mediaTypeOf } from './media-type.ts';
import type { FeedHead, ReleaseNotesFormat, WriteNotes } from './release-notes.ts';
import {
  addressOf,
  addText,
  dateText,
  literal,
  rssChannel,
  XML_OPTIONS,
  type Xml,
} from './rss-channel.ts';

const MINUTES_TO_LIVE = '1';
const END = '</channel></rss>';
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
  const head = rssChannel({
    title: `${app} ${channel}`,
    link,
    description: `Releases of ${app} on the channel ${channel}`,
    self: `${link}/rss.xml`,
  });
  // Taken from the releases rather than the clock, so that every node answers the same bytes with the same
  // entity tag.
  if (newestAt !== undefined) addText(head, 'lastBuildDate', dateText(newestAt));
  addText(head, 'ttl', MINUTES_TO_LIVE);
  return head.end().slice(0, -END.length);
}

function writeItem({ app, channel }: FeedHead, release: Release, toHtml: WriteNotes): string {
  const { version, notes, createdAt, artifacts } = release;
  const item = fragment(XML_OPTIONS).ele('item');
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
