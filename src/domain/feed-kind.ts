// The update files that electron-updater asks for, by what each is about. Names: electron-updater's
// `getChannelFilename` and `getDefaultChannelName`. One file serves all of Windows or macOS; on Linux there
// is one per arch, and the one without a suffix is x64's.

import { NO_ARCH } from './artifact.ts';

export type FeedKind = 'windows' | 'mac' | 'linux' | 'linux-arm64' | 'linux-arm' | 'linux-ia32';

type FeedKindFacts = {
  /** What follows the channel's name in the file's. */
  readonly suffix: string;
  /** Folded. */
  readonly platform: string;
  /** Folded; `NO_ARCH` where the file is for every arch. */
  readonly arch: string;
};

/** What each kind of file is called and for. */
export const FEED_KINDS: Readonly<Record<FeedKind, FeedKindFacts>> = {
  windows: { suffix: '', platform: 'windows', arch: NO_ARCH },
  mac: { suffix: '-mac', platform: 'darwin', arch: NO_ARCH },
  linux: { suffix: '-linux', platform: 'linux', arch: 'x86_64' },
  'linux-arm64': { suffix: '-linux-arm64', platform: 'linux', arch: 'aarch64' },
  'linux-arm': { suffix: '-linux-arm', platform: 'linux', arch: 'armv7' },
  'linux-ia32': { suffix: '-linux-ia32', platform: 'linux', arch: 'i686' },
};

const DEFAULT_CHANNEL = 'latest';
const KINDS = Object.keys(FEED_KINDS) as FeedKind[];

/**
 * Which kind of file a name asks for on a channel, or undefined when it asks for none. Beside `latest` it may
 * begin with the channel's own name: that is what a build asks for whose version is a prerelease. The
 * contract's names mean the same on every channel, also on one called `latest-mac`.
 */
export function feedKindOf(file: string, channel: string): FeedKind | undefined {
  return kindBeginningWith(DEFAULT_CHANNEL, file) ?? kindBeginningWith(channel, file);
}

function kindBeginningWith(name: string, file: string): FeedKind | undefined {
  return KINDS.find((kind) => file === `${name}${FEED_KINDS[kind].suffix}.yml`);
}
