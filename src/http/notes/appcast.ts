// Appcast as RSS 2.0 with Sparkle's namespace (docs/contract.md 21.5), in a form in which feedvalidator finds
// nothing to warn of either.

import type { Appcast, AppcastItem } from '../../updater/sparkle.ts';
import { mediaTypeOf } from './media-type.ts';
import type { WriteNotes } from './release-notes.ts';
import { addressOf, addText, dateText, literal, rssChannel, type Xml } from './rss-channel.ts';

const SPARKLE = 'http://www.andymatuschak.org/xml-namespaces/sparkle';
/** Length of a file whose length is not known. */
const UNKNOWN_LENGTH = 0;

/** Writes an appcast. `address` is the base URL of the service; without `toHtml` the notes are left out. */
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
  addText(element, 'title', version);
  element.ele('guid', { isPermaLink: 'false' }).txt(`${app}:${channel}:${version}`);
  addText(element, 'pubDate', dateText(createdAt));
  addSparkle(element, 'version', buildVersion ?? version);
  addSparkle(element, 'shortVersionString', version);
  if (minimumSystemVersion !== undefined) {
    addSparkle(element, 'minimumSystemVersion', minimumSystemVersion);
  }
  if (notes !== '' && toHtml !== undefined) addText(element, 'description', toHtml(notes));
  addEnclosure(element, artifact, file === 'appcast-windows.xml');
}

function addEnclosure(
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
