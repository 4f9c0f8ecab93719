// Artifact formats: which kind of installation a file can replace. Most clients can only install files of
// their own kind: Tauri's updater writes a .deb over a running AppImage, and refuses an AppImage where a
// package was installed. The publisher sets an artifact's format, or it is read from the URL; a device may
// report the kind it was installed from.

import { parseUrl } from '../../../contract/address.ts';
import { type Failure, invalidField } from '../../../contract/failure.ts';
import { LIMIT } from '../../../contract/limit.ts';
import type { Artifact } from '../../../contract/resource.ts';
import { isLongerThan } from '../../../contract/text.ts';

/** Formats that the URL of an artifact can show. A publisher may set any other format. */
export const ARTIFACT_FORMATS = [
  'app.tar.gz',
  'zip',
  '7z',
  'dmg',
  'pkg',
  'appimage',
  'appimage.tar.gz',
  'deb',
  'rpm',
  'pacman',
  'snap',
  'flatpak',
  'nsis',
  'nsis.zip',
  'exe',
  'msi',
  'msi.zip',
  'msix',
  'nupkg',
  'apk',
  'aab',
  'ipa',
  'swu',
  'raucb',
  'tar.gz',
  'tar.xz',
  'tar.zst',
] as const;

/** Kind of a device that reports none: it can install artifacts of every kind. */
export const ANY_KIND = '';

/** Form of a format's name. A device that reports any other text is treated as reporting no kind. */
const FORMAT_NAME = /^[a-z0-9][a-z0-9.+-]*$/;
/** Value that a client sends if it does not know how it was installed. */
const UNKNOWN_KIND = 'unknown';
/** File names of NSIS installers in lower case: by Tauri and NSIS users, and by electron-builder. */
const SETUP_NAME = /(?:[-_]setup| setup .*)\.exe$/;

/** Kind of each format whose kind has another name. Any other format is its own kind. */
const KINDS: ReadonlyMap<string, string> = new Map([
  ['app.tar.gz', 'app'],
  ['appimage.tar.gz', 'appimage'],
  ['exe', 'nsis'],
  ['nsis.zip', 'nsis'],
  ['msi.zip', 'msi'],
]);

/** Endings of file names, longest first: `x.app.tar.gz` is not a `tar.gz`. */
const ENDINGS: readonly string[] = [...ARTIFACT_FORMATS].sort(
  (left, right) => right.length - left.length,
);

/** Position of a format that is not listed for its platform, and of an artifact without a format. */
const OTHER = 'other';

/**
 * Formats of each platform, most preferred first: first those that replace a running app in place, last those
 * that a package manager or a person installs.
 */
const PREFERENCE: ReadonlyMap<string, readonly string[]> = new Map([
  ['darwin', ['app.tar.gz', 'zip', OTHER, 'dmg', 'pkg']],
  ['windows', ['nsis', 'nsis.zip', OTHER, 'msi', 'msi.zip', 'msix']],
  [
    'linux',
    ['appimage', 'appimage.tar.gz', OTHER, 'tar', 'deb', 'rpm', 'pacman', 'snap', 'flatpak'],
  ],
]);

/** Returns the format that the publisher set, else the one that the URL shows, else undefined. */
export function artifactFormat({
  format,
  url,
}: Pick<Artifact, 'format' | 'url'>): string | undefined {
  if (format !== undefined) return format.toLowerCase();
  return url === undefined ? undefined : formatInAddress(url);
}

/** Returns the kind that a format belongs to. The name of a kind is returned unchanged. */
export function kindOf(format: string): string {
  return KINDS.get(format) ?? format;
}

/**
 * Reads the kind that a device reports. Returns `ANY_KIND` for an empty text, `unknown` and a text that is no
 * format name, such as a variable that the client did not replace; a 400 if the text is too long.
 */
export function readKind(path: string, text: string): string | Failure {
  if (isLongerThan(text, LIMIT.artifactFormatLengthMax)) {
    return invalidField(path, `Must have at most ${LIMIT.artifactFormatLengthMax} characters`);
  }
  const name = text.toLowerCase();
  return name === UNKNOWN_KIND || !FORMAT_NAME.test(name) ? ANY_KIND : kindOf(name);
}

/** Returns the rank of a format on a folded platform; the lowest is preferred. */
export function formatRank(platform: string, format: string | undefined): number {
  const order = PREFERENCE.get(platform);
  if (order === undefined) return 0;
  const place = order.indexOf(preferenceName(platform, format ?? OTHER));
  return place === -1 ? order.indexOf(OTHER) : place;
}

function preferenceName(platform: string, format: string): string {
  if (platform === 'windows' && format === 'exe') return 'nsis';
  return platform === 'linux' && format.startsWith('tar.') ? 'tar' : format;
}

function formatInAddress(url: string): string | undefined {
  const name = decodedFileName(url).toLowerCase();
  if (SETUP_NAME.test(name)) return 'nsis';
  return ENDINGS.find((ending) => name.endsWith(`.${ending}`));
}

/** Delta package of Squirrel or Velopack, by its name; some hosts put more segments behind the name. */
const DELTA_PACKAGE = /-delta\.nupkg(?:\/|$)/i;
/** Matches every URL of a delta and few others, because parsing each URL takes five times as long. */
const MAY_BE_DELTA = /delta|%/i;
/** Delta update that Sparkle's tools make beside the whole app. */
const DELTA_FILE = /\.delta\/?$/i;

/**
 * Returns whether an artifact holds only what changed since another version, so that no device can install it
 * by itself. The name of a package decides, whatever format its publisher gave; a `.delta` with a format is
 * for an updater of the publisher's own.
 */
export function isDelta({ format, url }: Pick<Artifact, 'format' | 'url'>): boolean {
  if (url === undefined || !MAY_BE_DELTA.test(url)) return false;
  const path = decoded(parseUrl(url)?.pathname ?? '');
  return DELTA_PACKAGE.test(path) || (format === undefined && DELTA_FILE.test(path));
}

/** Returns the last segment of a URL's path, still percent-encoded; '' if there is none. */
export function fileNameOf(url: string): string {
  return parseUrl(url)?.pathname.split('/').at(-1) ?? '';
}

/** Returns the decoded file name of a URL, or the encoded name if it is malformed. */
export function decodedFileName(url: string): string {
  return decoded(fileNameOf(url));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
