// Formats of artifacts: what kind of installation a file can replace. Most clients can take files of their
// own kind only: Tauri's updater writes a served .deb over a running AppImage, and refuses an AppImage where
// a package was installed. So an artifact has a format, given by its publisher or read off its address, and a
// device may tell the kind that it was installed from.

import { type Failure, invalidField } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { parseUrl } from '../../contract/parse-url.ts';
import type { Artifact } from '../../contract/resource.ts';
import { isLongerThan } from '../../contract/text.ts';

/** Formats that an address can tell. A publisher may give an artifact another one. */
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
  'tar.gz',
  'tar.xz',
  'tar.zst',
] as const;

/** Kind of a device that does not tell one: every artifact is of it. */
export const ANY_KIND = '';

/** Form of a format's name; anything else that a device tells is no format, and tells nothing. */
const FORMAT_NAME = /^[a-z0-9][a-z0-9.+-]*$/;
/** What a client tells that does not know how it was installed. */
const UNKNOWN_KIND = 'unknown';
/** File names of NSIS set-ups, in lower case: of Tauri and NSIS' own habit, and of electron-builder. */
const SETUP_NAME = /(?:[-_]setup| setup .*)\.exe$/;

/** Formats that belong to a kind of another name. Any other format is a kind of its own. */
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

/** Place of a format that is not listed for its platform, and of an artifact without one. */
const OTHER = 'other';

/**
 * Formats of each platform in the order in which they are preferred: those first that replace a running app
 * in place, those last that a package manager or a person installs.
 */
const PREFERENCE: ReadonlyMap<string, readonly string[]> = new Map([
  ['darwin', ['app.tar.gz', 'zip', OTHER, 'dmg', 'pkg']],
  ['windows', ['nsis', 'nsis.zip', OTHER, 'msi', 'msi.zip', 'msix']],
  [
    'linux',
    ['appimage', 'appimage.tar.gz', OTHER, 'tar', 'deb', 'rpm', 'pacman', 'snap', 'flatpak'],
  ],
]);

/** Returns the format of an artifact: the one given, else the one in its address, else undefined. */
export function artifactFormat({
  format,
  url,
}: Pick<Artifact, 'format' | 'url'>): string | undefined {
  if (format !== undefined) return format.toLowerCase();
  return url === undefined ? undefined : formatInAddress(url);
}

/** Returns the kind that a format belongs to; a kind's own name is returned as it is. */
export function kindOf(format: string): string {
  return KINDS.get(format) ?? format;
}

/**
 * Returns the kind that a device tells of itself; `ANY_KIND` for a text that names none: an empty one,
 * `unknown`, or what is no format's name, such as a variable that a client did not replace. 400 when it is
 * too long.
 */
export function readKind(path: string, text: string): string | Failure<'invalid'> {
  if (isLongerThan(text, LIMIT.artifactFormatLengthMax)) {
    return invalidField(path, `Must have at most ${LIMIT.artifactFormatLengthMax} characters`);
  }
  const name = text.toLowerCase();
  return name === UNKNOWN_KIND || !FORMAT_NAME.test(name) ? ANY_KIND : kindOf(name);
}

/** Returns the place of a format among those of a folded platform; the lowest is preferred. */
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

/** Returns the last part of an address's path, still percent-encoded; '' if there is none. */
export function fileNameOf(url: string): string {
  return parseUrl(url)?.pathname.split('/').at(-1) ?? '';
}

/** Returns the file name of an address, decoded; one that is malformed stays as it is. */
export function decodedFileName(url: string): string {
  const name = fileNameOf(url);
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
