// Which artifacts of a release an update file lists, and in which order. electron-updater chooses among
// them by extension and by whether the address contains `process.arch`, and takes the first where none does:
// so what it cannot install must not be listed, and the order decides for addresses that name no arch.

import { foldArch, foldPlatform, NO_ARCH } from './artifact.ts';
import { FEED_KINDS, type FeedKind } from './feed-kind.ts';
import type { SnapshotArtifact } from './serving-snapshot.ts';

/** With an address, and a checksum of which at least one is known. */
export type FeedArtifact = SnapshotArtifact & { readonly url: string } & (
    | { readonly sha512: string }
    | { readonly sha256: string }
  );

/** What the updater of each platform installs; macOS never takes a .dmg or .pkg. */
const INSTALLABLE: Readonly<Record<string, ReadonlySet<string>>> = {
  windows: new Set(['exe']),
  darwin: new Set(['zip']),
  linux: new Set(['appimage', 'deb', 'rpm', 'pacman']),
};

/** Formats that some installer or person wants, but no updater of these. */
const OTHER_FORMATS: ReadonlySet<string> = new Set([
  ...['exe', 'msi', 'msix', 'msixbundle', 'appx', 'appxbundle', 'nupkg', 'zip', '7z', 'dmg', 'pkg'],
  ...['appimage', 'deb', 'rpm', 'pacman', 'apk', 'aab', 'ipa', 'snap', 'flatpak', 'jar'],
  ...[
    'tar',
    'tgz',
    'gz',
    'xz',
    'bz2',
    'zst',
    'blockmap',
    'sig',
    'asc',
    'json',
    'txt',
    'yml',
    'yaml',
  ],
]);

const SETUP = /(?:^|[^a-z])(?:setup|installer)(?:[^a-z]|$)/i;
const UNIVERSAL = 'universal';
const UNUSABLE = -1;

/**
 * The artifacts for a kind of file, best first; empty when the release has none that its clients could use.
 * One checksum missing makes electron-updater refuse the whole file, so those without are left out. An
 * address whose end tells no format is taken for installable when nothing else is.
 */
export function feedArtifacts(
  artifacts: readonly SnapshotArtifact[],
  kind: FeedKind,
): FeedArtifact[] {
  const { platform } = FEED_KINDS[kind];
  const usable = artifacts
    .filter((artifact) => foldPlatform(artifact.platform) === platform)
    .filter(isVerifiable)
    .filter((artifact) => archRank(artifact, kind) !== UNUSABLE);
  const installable = usable.filter(({ url }) => INSTALLABLE[platform]?.has(formatOf(url)));
  const listed =
    installable.length > 0
      ? installable
      : usable.filter(({ url }) => !OTHER_FORMATS.has(formatOf(url)));
  return listed.sort(
    (left, right) =>
      archRank(left, kind) - archRank(right, kind) || setupRank(left) - setupRank(right),
  );
}

/** `process.arch` of the arches that Electron runs on. */
const ELECTRON_ARCHES: ReadonlyMap<string, string> = new Map([
  ['x86_64', 'x64'],
  ['aarch64', 'arm64'],
  ['i686', 'ia32'],
]);

/**
 * The address to list for one of these artifacts: the publisher's, unless a client would then take another's
 * file. Clients look for their own name of the arch in it; where the publisher wrote another one (`aarch64`),
 * a fragment says it, which they match and do not send.
 */
export function feedUrl(artifacts: readonly FeedArtifact[], artifact: FeedArtifact): string {
  const { url } = artifact;
  const hint = ELECTRON_ARCHES.get(foldArch(artifact.arch));
  if (hint === undefined || url.includes(hint) || !needsHint(artifacts, artifact)) return url;
  return `${url}${url.includes('#') ? '-' : '#'}${hint}`;
}

/** The first is taken by whoever finds no name; but an x64 Mac must know an arm64 build even there. */
function needsHint([first]: readonly FeedArtifact[], { platform, arch }: FeedArtifact): boolean {
  if (foldArch(arch) === 'aarch64' && foldPlatform(platform) === 'darwin') return true;
  return foldArch(first?.arch) !== foldArch(arch);
}

function isVerifiable(artifact: SnapshotArtifact): artifact is FeedArtifact {
  const { url, sha512 = '', sha256 = '' } = artifact;
  return url !== undefined && (sha512 !== '' || sha256 !== '');
}

/**
 * In a file for one arch: that arch, then what runs on several, as an update check prefers them. In a file
 * for all: what runs on every arch first, x64 before the rest, arm64 last, because a client that finds its
 * arch in no address takes the first.
 */
function archRank(artifact: SnapshotArtifact, kind: FeedKind): number {
  const arch = foldArch(artifact.arch);
  const wanted = FEED_KINDS[kind].arch;
  if (wanted !== NO_ARCH) return [wanted, UNIVERSAL, NO_ARCH].indexOf(arch);
  if (arch === UNIVERSAL || arch === NO_ARCH) return 0;
  if (arch === 'x86_64') return 1;
  return arch === 'aarch64' ? 3 : 2;
}

/** Portable builds are `.exe` as well: beside one that calls itself an installer they must not come first. */
function setupRank({ url }: FeedArtifact): number {
  return SETUP.test(nameOf(url)) ? 0 : 1;
}

/** The extension of an address's path in lower case, or the empty text. */
function formatOf(url: string): string {
  const name = nameOf(url);
  return name.includes('.') ? name.slice(name.lastIndexOf('.') + 1).toLowerCase() : '';
}

function nameOf(url: string): string {
  return URL.canParse(url) ? (new URL(url).pathname.split('/').at(-1) ?? '') : '';
}
