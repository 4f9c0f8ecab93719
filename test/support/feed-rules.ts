// Rules by which w3c/feedvalidator judges an RSS 2.0 document, errors and warnings alike, as far as they can
// concern a feed of releases. They are stricter than readers, so that a feed without a breach is read
// everywhere.

import Parser from 'rss-parser';
import { create } from 'xmlbuilder2';

type Node = ReturnType<typeof create>['node'];
export type Element = Node & {
  readonly localName: string;
  readonly namespaceURI: string | null;
  getAttribute(name: string): string | null;
  getAttributeNS(namespace: string | null, name: string): string | null;
};

const ATOM = 'http://www.w3.org/2005/Atom';
const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = 'Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec';
const DATE = new RegExp(
  String.raw`^(${DAYS.join('|')}), \d{2} (?:${MONTHS}) \d{4} \d{2}:\d{2}:\d{2} (?:GMT|\+0000)$`,
);
const FUTURE_MS_MAX = 10 * 60_000;
const FORBIDDEN = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;
const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+$/;
const SINGLE_IN_ITEM = ['title', 'description', 'guid', 'pubDate', 'enclosure', 'link'];
const TAGS = 'p|br|hr|h[1-6]|blockquote|pre|code|strong|em|s|ul|ol|li|a|table|thead|tbody|tr|th|td';
const SAFE_TAG = new RegExp(`^</?(?:${TAGS})(?: (?:href|rel|start)="[^"<>]*")*(?: /)?>$`);

/** Returns every breach of the rules in a document fetched from `url`; rejects when it is not well-formed. */
export async function feedBreaches(xml: string, url: string): Promise<string[]> {
  // This parser is the strict one, and reads text right; the other parser gives the document tree.
  const read = await new Parser().parseString(xml);
  if (FORBIDDEN.test(xml)) return ['holds a character that XML does not have'];
  const root = rootOf(xml);
  const channels = children(root, 'channel');
  const [channel] = channels;
  if (root.localName !== 'rss' || root.getAttribute('version') !== '2.0') return ['is no RSS 2.0'];
  if (channel === undefined || channels.length > 1) return ['has not one channel'];
  const items = children(channel, 'item');
  const guids = items.map((item) => textOf(item, 'guid'));
  return [
    ...channelBreaches(channel, url),
    ...items.flatMap((item, index) => itemBreaches(item).map((what) => `item ${index}: ${what}`)),
    ...read.items.flatMap(({ content = '' }) => htmlBreaches(content)),
    ...(new Set(guids).size === guids.length ? [] : ['a guid is repeated']),
  ];
}

/** Returns the parts of HTML that could act, or lead elsewhere than to http, https and mailto. */
export function htmlBreaches(html: string): string[] {
  const tags = html.match(/<[^>]*>?/g) ?? [];
  const links = tags.flatMap((tag) => /href="([^"]*)"/.exec(tag)?.[1] ?? []);
  return [
    ...tags.filter((tag) => !SAFE_TAG.test(tag)).map((tag) => `unsafe tag ${tag}`),
    ...links.filter((href) => !/^(?:https?|mailto):/i.test(href)).map((href) => `unsafe ${href}`),
    ...tags
      .filter((tag) => tag.startsWith('<a ') && !tag.includes('noopener'))
      .map((tag) => `without noopener: ${tag}`),
  ];
}

function channelBreaches(channel: Element, url: string): string[] {
  const breaches = ['title', 'link', 'description'].flatMap((name) =>
    children(channel, name).length === 1 ? [] : [`has not one ${name}`],
  );
  if (!isWebAddress(textOf(channel, 'link'))) breaches.push('link is no absolute URL');
  const self = elements(channel).find(
    (child) => child.namespaceURI === ATOM && child.getAttribute('rel') === 'self',
  );
  if (self?.getAttribute('href') !== url) breaches.push('has no atom:link to where it came from');
  if (self?.getAttribute('type') !== 'application/rss+xml') breaches.push('atom:link has no type');
  const date = textOf(channel, 'lastBuildDate');
  return date === undefined ? breaches : [...breaches, ...dateBreaches('lastBuildDate', date)];
}

function itemBreaches(item: Element): string[] {
  const breaches = SINGLE_IN_ITEM.flatMap((name) =>
    children(item, name).length > 1 ? [`more than one ${name}`] : [],
  );
  const [title, description, date] = ['title', 'description', 'pubDate'].map((name) =>
    textOf(item, name),
  );
  if (title === undefined && description === undefined) breaches.push('no title and description');
  if (/<[a-z!/]|&[a-z]+;/i.test(title ?? '')) breaches.push('HTML in the title');
  if (date !== undefined) breaches.push(...dateBreaches('pubDate', date));
  return [
    ...breaches,
    ...guidBreaches(children(item, 'guid')[0]),
    ...children(item, 'enclosure').flatMap(enclosureBreaches),
  ];
}

function guidBreaches(guid: Element | undefined): string[] {
  if (guid === undefined) return ['no guid'];
  const isPermaLink = guid.getAttribute('isPermaLink');
  if (isPermaLink === 'false') return [];
  if (isPermaLink !== null && isPermaLink !== 'true')
    return ['isPermaLink is neither true nor false'];
  return isWebAddress(guid.textContent ?? '') ? [] : ['guid is no URL and says it is'];
}

function enclosureBreaches(enclosure: Element): string[] {
  const [url, length, type] = ['url', 'length', 'type'].map((name) => enclosure.getAttribute(name));
  return [
    ...(isWebAddress(url ?? '') ? [] : ['enclosure without url']),
    ...(/^\d+$/.test(length ?? '') ? [] : ['enclosure without length']),
    ...(MEDIA_TYPE.test(type ?? '') ? [] : ['enclosure without type']),
  ];
}

function dateBreaches(name: string, text: string): string[] {
  const day = DATE.exec(text)?.[1];
  if (day === undefined) return [`${name} is no RFC 822 date`];
  const date = new Date(text);
  if (DAYS[date.getUTCDay()] !== day) return [`${name} has the wrong weekday`];
  return date.getTime() > Date.now() + FUTURE_MS_MAX ? [`${name} is to come`] : [];
}

/** Tells whether a text is an http(s) URL of the characters that RFC 3986 allows. */
function isWebAddress(text: string | undefined): boolean {
  return /^https?:\/\/[\w.~:/?#[\]@!$&'()*+,;=%-]+$/i.test(text ?? '') && URL.canParse(text ?? '');
}

/** Returns the root element of a document. */
export function rootOf(xml: string): Element {
  return create(xml).root().node as Element;
}

function elements(parent: Element): Element[] {
  return [...parent.childNodes].filter((node) => node.nodeType === 1) as Element[];
}

export function children(parent: Element, name: string, namespace: string | null = null) {
  const isWanted = (node: Element) => node.localName === name && node.namespaceURI === namespace;
  return elements(parent).filter(isWanted);
}

function textOf(parent: Element, name: string): string | undefined {
  return children(parent, name)[0]?.textContent ?? undefined;
}
