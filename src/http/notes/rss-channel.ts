// Parts that the RSS documents of the service share: release notes, and appcasts for updaters.

import { create } from 'xmlbuilder2';
import { parseUrl } from '../../contract/parse-url.ts';

const ATOM = 'http://www.w3.org/2005/Atom';
const XMLNS = 'http://www.w3.org/2000/xmlns/';
/** Characters that the URL class accepts and RFC 3986 does not. */
const NOT_IN_ADDRESSES = /[\\^`{|}]/g;

export type Xml = ReturnType<typeof create>;

export type ChannelHead = {
  readonly title: string;
  readonly link: string;
  readonly description: string;
  /** Address of the document itself. */
  readonly self: string;
  /** Namespaces of the document beside Atom's, by prefix. */
  readonly namespaces?: Readonly<Record<string, string>>;
};

/** Begins a document, and returns its channel with what every channel must have. */
export function rssChannel({ title, link, description, self, namespaces = {} }: ChannelHead): Xml {
  const document = create({ version: '1.0', encoding: 'UTF-8', ...XML_OPTIONS });
  const rss = document.ele('rss', { version: '2.0' });
  rss.att(XMLNS, 'xmlns:atom', ATOM);
  for (const [prefix, name] of Object.entries(namespaces)) rss.att(XMLNS, `xmlns:${prefix}`, name);
  const channel = rss.ele('channel');
  addText(channel, 'title', title);
  addText(channel, 'link', link);
  addText(channel, 'description', description);
  const attributes = { rel: 'self', type: 'application/rss+xml', href: literal(self) };
  channel.ele(ATOM, 'atom:link', attributes);
  return channel;
}

/** Characters that XML does not allow, not even escaped: one of them would make the whole feed unreadable. */
export const XML_OPTIONS = { invalidCharReplacement: '' };

/** Adds an element that holds a text. */
export function addText(parent: Xml, name: string, text: string): void {
  parent.ele(name).txt(literal(text));
}

/** Returns an artifact's URL in ASCII, as feeds require it; undefined when it is not an http(s) URL. */
export function addressOf(url: string | undefined): string | undefined {
  if (url === undefined || !/^https?:/i.test(url)) return undefined;
  return parseUrl(url)?.href.replace(NOT_IN_ADDRESSES, encodeURIComponent);
}

/** Formats a date by RFC 822 with a four-digit year: `Fri, 02 Jan 2026 03:04:05 GMT`. */
export function dateText(iso: string): string {
  return new Date(iso).toUTCString();
}

/**
 * Escapes ampersands before xmlbuilder2 does, because it leaves apparent entities as they are:
 * `&lt;script&gt;`, which displays "<script>" in HTML, would become the element itself.
 */
export function literal(text: string): string {
  return text.replaceAll('&', '&amp;');
}
