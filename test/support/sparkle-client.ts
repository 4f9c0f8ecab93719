// What Sparkle and WinSparkle read of an appcast, by Sparkle's documentation ("Publishing an update",
// SUAppcastItem) and WinSparkle's appcast parser. Stricter than both: what one of them would only log, or
// guess around, throws here.

import { children, type Element, rootOf } from './feed-rules.ts';

export type SparkleUpdate = {
  /** `CFBundleVersion`, which is compared. */
  readonly version: string;
  /** Version that people are shown. */
  readonly shortVersion: string;
  readonly minimumSystemVersion: string | undefined;
  /** What Sparkle 2.9 asks of the Mac: `arm64`, or nothing. */
  readonly hardware: string | undefined;
  /** Notes as HTML; undefined when there are none. */
  readonly notes: string | undefined;
  readonly date: Date;
  readonly url: string;
  readonly length: number;
  readonly type: string;
  /** Ed25519 signature in base64. */
  readonly signature: string | undefined;
};

const SPARKLE = 'http://www.andymatuschak.org/xml-namespaces/sparkle';
/** Forms of a system's version; WinSparkle before 0.8.2 took a third number for a service pack. */
const SYSTEM_VERSION = { darwin: /^\d+(?:\.\d+){0,2}$/, windows: /^\d+\.\d+(?:-\d+)?$/ };
const ED25519_SIGNATURE_BYTES = 64;
/** Values of `sparkle:os` that a client takes for its own; null is an item for macOS. */
const OWN_SYSTEMS = {
  darwin: [null, 'macos'],
  windows: ['windows', 'windows-x64', 'windows-x86', 'windows-arm64'],
} as const;

/** Returns the update that a client finds in an appcast; undefined when the appcast has none for it. */
export function readAppcast(
  xml: string,
  system: keyof typeof OWN_SYSTEMS,
): SparkleUpdate | undefined {
  const root = rootOf(xml);
  const [channel] = children(root, 'channel');
  if (root.localName !== 'rss' || channel === undefined) throw new Error('no RSS channel');
  const own = children(channel, 'item').filter((item) => {
    const os = enclosureOf(item).getAttributeNS(SPARKLE, 'os');
    return (OWN_SYSTEMS[system] as readonly (string | null)[]).includes(os);
  });
  const [item] = own;
  if (own.length > 1) throw new Error('several items for one system');
  return item === undefined ? undefined : readItem(item, SYSTEM_VERSION[system]);
}

function readItem(item: Element, systemVersion: RegExp): SparkleUpdate {
  // A link of an item makes Sparkle show a page instead of installing.
  if (children(item, 'link').length > 0) throw new Error('an informational update');
  const minimumSystemVersion = textOf(item, SPARKLE, 'minimumSystemVersion');
  if (minimumSystemVersion !== undefined && !systemVersion.test(minimumSystemVersion)) {
    throw new Error(`no version of a system: ${minimumSystemVersion}`);
  }
  const date = new Date(demanded('pubDate', textOf(item, null, 'pubDate')));
  if (Number.isNaN(date.getTime())) throw new Error('no date');
  return {
    version: demanded('sparkle:version', textOf(item, SPARKLE, 'version')),
    shortVersion: demanded('shortVersionString', textOf(item, SPARKLE, 'shortVersionString')),
    minimumSystemVersion,
    hardware: textOf(item, SPARKLE, 'hardwareRequirements'),
    notes: textOf(item, null, 'description'),
    date,
    ...readEnclosure(enclosureOf(item)),
  };
}

function readEnclosure(
  enclosure: Element,
): Pick<SparkleUpdate, 'url' | 'length' | 'type' | 'signature'> {
  const url = demanded('url', enclosure.getAttributeNS(null, 'url') ?? undefined);
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) throw new Error(`no address: ${url}`);
  const length = demanded('length', enclosure.getAttributeNS(null, 'length') ?? undefined);
  if (!/^\d+$/.test(length)) throw new Error(`no length: ${length}`);
  const signature = enclosure.getAttributeNS(SPARKLE, 'edSignature') ?? undefined;
  if (
    signature !== undefined &&
    Buffer.from(signature, 'base64').length !== ED25519_SIGNATURE_BYTES
  ) {
    throw new Error('no Ed25519 signature');
  }
  const type = demanded('type', enclosure.getAttributeNS(null, 'type') ?? undefined);
  return { url, length: Number(length), type, signature };
}

function enclosureOf(item: Element): Element {
  const [enclosure, ...others] = children(item, 'enclosure');
  if (enclosure === undefined || others.length > 0) throw new Error('not one enclosure');
  return enclosure;
}

/** Returns the text of a child, undefined when there is none. */
function textOf(parent: Element, namespace: string | null, name: string): string | undefined {
  const [child, ...others] = children(parent, name, namespace);
  if (others.length > 0) throw new Error(`several ${name}`);
  return child?.textContent ?? undefined;
}

function demanded(name: string, text: string | undefined): string {
  if (text === undefined || text.trim() === '') throw new Error(`no ${name}`);
  return text;
}
