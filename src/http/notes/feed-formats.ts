// Formats of the public feeds: release notes as RSS 2.0 and JSON (docs/contract.md 4.10), and Sparkle's
// appcast. Validators find neither errors nor warnings in them.

import { create, fragment } from 'xmlbuilder2';
import { parseUrl, wireAddress } from '../../contract/address.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { Artifact, Release } from '../../contract/resource.ts';
import { extensionOf } from '../../domain/decision/artifact/artifact.ts';
import { isDelta } from '../../domain/decision/artifact/artifact-format.ts';
import type { ServingSnapshot } from '../../domain/decision/serving-snapshot.ts';
import { type Appcast, type AppcastItem, needsAppleSilicon } from '../../updater/sparkle.ts';
import { winSparkleVersion } from '../../updater/system-version.ts';
import { escapeHtml } from '../transport/escape-html.ts';

const MINUTES_TO_LIVE = '1';
const END = '</channel></rss>';
export const RSS_RELEASE_NOTES: ReleaseNotesFormat = {
  open: (feed) => openChannel(feed, `${feed.address}/feed/${feed.app}/${feed.channel}`),
  item: writeItem,
  separator: '',
  close: END,
};

/**
 * Writes the document up to the first item. The self link has the app's ref, even if the request has its id.
 */
function openChannel({ app, channel, newestAt }: FeedHead, link: string): string {
  const head = rssChannel({
    title: `${app} ${channel}`,
    link,
    description: `Releases of ${app} on the channel ${channel}`,
    self: `${link}/rss.xml`,
  });
  // The time of a release rather than the clock's, so that every node answers the same bytes and entity tag.
  if (newestAt !== undefined) addText(head, 'lastBuildDate', dateText(newestAt));
  addText(head, 'ttl', MINUTES_TO_LIVE);
  return head.end().slice(0, -END.length);
}

function writeItem({ app, channel }: FeedHead, release: Release, toHtml: WriteNotes): string {
  const { version, notes, createdAt, artifacts } = release;
  const item = fragment(XML_OPTIONS).ele('item');
  addText(item, 'title', `${app} ${version}`);
  // The parts never change, and only the last one can contain a colon.
  item.ele('guid', { isPermaLink: 'false' }).txt(`${app}:${channel}:${version}`);
  addText(item, 'pubDate', dateText(createdAt));
  addText(item, 'description', [toHtml(notes), artifactsHtml(artifacts)].join(''));
  addEnclosure(item, artifacts);
  return item.toString();
}

/** Adds an enclosure for a single artifact: RSS allows one per item, and readers download it unasked. */
function addEnclosure(item: Xml, artifacts: readonly Artifact[]): void {
  const [artifact, ...others] = artifacts.filter(({ url }) => addressOf(url) !== undefined);
  const url = addressOf(artifact?.url);
  if (url === undefined || others.length > 0) return;
  const length = String(artifact?.size ?? 0);
  item.ele('enclosure', { url: literal(url), length, type: mediaTypeOf(url) });
}

/** Writes every artifact as a link, so that the RSS item shows people the artifacts of the JSON feed. */
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

// Releases in the release-notes feed of a channel (docs/contract.md 16.9), and the interface of its formats.

/** Name of a format of release-notes feeds. */
export type FeedName = 'json' | 'rss';

/** Content of a feed beside its releases. */
export type FeedHead = {
  /** Ref of the app. */
  readonly app: string;
  readonly channel: string;
  /** Time of creation of the newest release; undefined if there is none. */
  readonly newestAt: string | undefined;
  /** Base URL of the service, without a trailing slash. */
  readonly address: string;
};

/** Function that writes notes as HTML. */
type WriteNotes = (notes: string) => string;

/** Serialisation of a feed in pieces, one per release. */
export type ReleaseNotesFormat = {
  /** Text before the first release. */
  readonly open: (feed: FeedHead) => string;
  readonly item: (feed: FeedHead, release: Release, toHtml: WriteNotes) => string;
  /** Text between two releases. */
  readonly separator: string;
  /** Text after the last release. */
  readonly close: string;
};

/** Returns the newest published releases of a channel, at most 50; none of the channel that it follows. */
export function releaseNotesOf(snapshot: ServingSnapshot): {
  /** Ref of the app. */
  readonly app: string;
  readonly channel: string;
  /** Published releases, newest first: by time of creation, then by id. */
  readonly releases: readonly Release[];
} {
  const { appRef: app, channel } = snapshot;
  const releases: Release[] = [];
  for (let index = snapshot.releases.length - 1; index >= 0; index--) {
    const release = snapshot.releases[index];
    if (release?.status !== 'published' || release.followed) continue;
    const { id, version, notes, status, rolloutPct, createdAt } = release;
    const whole = release.artifacts.filter((artifact) => !isDelta(artifact));
    const artifacts = whole.map(toContract);
    releases.push({ id, app, channel, version, notes, status, rolloutPct, createdAt, artifacts });
    if (releases.length === LIMIT.feedReleasesMax) break;
  }
  return { app, channel, releases };
}

/**
 * Returns an artifact with only the fields that the contract names for feeds, and its URL in ASCII. The other
 * fields are for updaters.
 */
function toContract({ platform, arch, url, sha512, size, signature }: Artifact): Artifact {
  return {
    platform,
    ...(arch === undefined ? {} : { arch }),
    ...(url === undefined ? {} : { url: wireAddress(url) }),
    ...(sha512 === undefined ? {} : { sha512 }),
    ...(size === undefined ? {} : { size }),
    ...(signature === undefined ? {} : { signature }),
  };
}

// Parts that both RSS documents of the service share: release notes, and appcasts for updaters.

const ATOM = 'http://www.w3.org/2005/Atom';
const XMLNS = 'http://www.w3.org/2000/xmlns/';

type Xml = ReturnType<typeof create>;

type ChannelHead = {
  readonly title: string;
  readonly link: string;
  readonly description: string;
  /** Address of the document itself. */
  readonly self: string;
  /** Namespaces of the document beside Atom's, by prefix. */
  readonly namespaces?: Readonly<Record<string, string>>;
};

/** Begins a document, and returns its `channel` with the elements that every channel must have. */
function rssChannel({ title, link, description, self, namespaces = {} }: ChannelHead): Xml {
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

/** Removes characters that XML does not allow even escaped: one would make the whole feed unreadable. */
const XML_OPTIONS = { invalidCharReplacement: '' };

/** Adds an element with a text. */
function addText(parent: Xml, name: string, text: string): void {
  parent.ele(name).txt(literal(text));
}

/** Returns an artifact's URL in ASCII, as feeds require; undefined if it is no http(s) URL. */
function addressOf(url: string | undefined): string | undefined {
  if (url === undefined || !/^https?:/i.test(url)) return undefined;
  const address = parseUrl(url)?.href;
  return address === undefined ? undefined : wireAddress(address);
}

/** Formats a date by RFC 822 with a four-digit year: `Fri, 02 Jan 2026 03:04:05 GMT`. */
function dateText(iso: string): string {
  return new Date(iso).toUTCString();
}

/**
 * Escapes ampersands before xmlbuilder2 does, because xmlbuilder2 leaves apparent entities unescaped: the
 * text `&lt;script&gt;`, which is HTML for "<script>", would become the element itself.
 */
function literal(text: string): string {
  return text.replaceAll('&', '&amp;');
}

// Release-notes feed as JSON (docs/contract.md 4.9): `{ app, channel, releases: [Release] }`.

export const JSON_RELEASE_NOTES: ReleaseNotesFormat = {
  open: ({ app, channel }) =>
    `{"app":${JSON.stringify(app)},"channel":${JSON.stringify(channel)},"releases":[`,
  item: (_feed, release) => JSON.stringify(release),
  separator: ',',
  close: ']}',
};

// Appcast as RSS 2.0 with Sparkle's namespace (docs/contract.md 21.5); feedvalidator has no warnings either.

const SPARKLE = 'http://www.andymatuschak.org/xml-namespaces/sparkle';
/** Length in the enclosure of a file whose size is unknown. */
const UNKNOWN_LENGTH = 0;

/** Writes an appcast. `address`: base URL of the service; if `toHtml` is undefined, notes are left out. */
export function writeAppcast(
  appcast: Appcast,
  address: string,
  toHtml: WriteNotes | undefined,
): string {
  const { app, channel, file, item } = appcast;
  const link = `${address}/sparkle/${app}/${channel}/${file}`;
  const head = rssChannel({
    title: `${app} ${channel}`,
    link,
    description: `Updates of ${app} on the channel ${channel}`,
    self: link,
    namespaces: { sparkle: SPARKLE },
  });
  if (item !== undefined) addItem(head.ele('item'), appcast, item, toHtml);
  return head.end();
}

function addItem(
  element: Xml,
  { app, channel, file }: Appcast,
  { version, release, artifact }: AppcastItem,
  toHtml: WriteNotes | undefined,
): void {
  const { notes, createdAt } = release;
  const { buildVersion, minimumSystemVersion } = artifact;
  const isForWindows = file === 'appcast-windows.xml';
  addText(element, 'title', version);
  element.ele('guid', { isPermaLink: 'false' }).txt(`${app}:${channel}:${version}`);
  addText(element, 'pubDate', dateText(createdAt));
  addSparkle(element, 'version', buildVersion ?? version);
  addSparkle(element, 'shortVersionString', version);
  if (minimumSystemVersion !== undefined) {
    const written = isForWindows ? winSparkleVersion(minimumSystemVersion) : minimumSystemVersion;
    addSparkle(element, 'minimumSystemVersion', written);
  }
  if (needsAppleSilicon(artifact)) addSparkle(element, 'hardwareRequirements', 'arm64');
  if (notes !== '' && toHtml !== undefined) addText(element, 'description', toHtml(notes));
  appcastAddEnclosure(element, artifact, isForWindows);
}

function appcastAddEnclosure(
  element: Xml,
  { url = '', size = UNKNOWN_LENGTH, signature }: AppcastItem['artifact'],
  isForWindows: boolean,
): void {
  const enclosure = element.ele('enclosure', {
    url: literal(addressOf(url) ?? url),
    length: String(size),
    type: mediaTypeOf(url),
  });
  if (isForWindows) enclosure.att(SPARKLE, 'sparkle:os', 'windows');
  if (signature !== undefined) enclosure.att(SPARKLE, 'sparkle:edSignature', literal(signature));
}

function addSparkle(parent: Xml, name: string, text: string): void {
  parent.ele(SPARKLE, `sparkle:${name}`).txt(literal(text));
}

const UNKNOWN = 'application/octet-stream';
/** Media types by the extension of a file name, because artifacts have no media type of their own. */
const BY_EXTENSION: ReadonlyMap<string, string> = new Map([
  ['apk', 'application/vnd.android.package-archive'],
  ['appimage', 'application/vnd.appimage'],
  ['bz2', 'application/x-bzip2'],
  ['deb', 'application/vnd.debian.binary-package'],
  ['dmg', 'application/x-apple-diskimage'],
  ['exe', 'application/vnd.microsoft.portable-executable'],
  ['gz', 'application/gzip'],
  ['jar', 'application/java-archive'],
  ['msi', 'application/x-msi'],
  ['msix', 'application/msix'],
  ['rpm', 'application/x-rpm'],
  ['tar', 'application/x-tar'],
  ['tgz', 'application/gzip'],
  ['xz', 'application/x-xz'],
  ['zip', 'application/zip'],
  ['zst', 'application/zstd'],
]);

/**
 * Returns the media type of the file at an absolute URL; `application/octet-stream` for other extensions.
 */
function mediaTypeOf(url: string): string {
  return BY_EXTENSION.get(extensionOf(url)) ?? UNKNOWN;
}
