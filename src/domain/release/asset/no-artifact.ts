// Why devices do not install a file, by its name: it belongs to another file, it is not whole, or no format
// has its ending.

import { knownArch } from '../../decision/artifact/fold-arch.ts';
import { endsWholeFile, isMetadataEnding } from './asset-endings.ts';
import { type AssetWord, assetWords, wordSet } from './asset-words.ts';

export type NoArtifact =
  /** A checksum, a signature, symbols, sources, or another file that accompanies an installable one. */
  | 'metadata'
  /** A part of a split file. */
  | 'part'
  /** A package that does not hold the whole app, such as a delta. */
  | 'incomplete'
  /** No format has this ending. */
  | 'unknown-ending';

/** Returns why a file in lower case is no artifact; undefined if its name does not show it. */
export function whyNoArtifact(
  stem: string,
  endings: readonly string[],
  words: readonly AssetWord[],
): NoArtifact | undefined {
  if (endings.some(isMetadataEnding) || UPDATER.test(stem)) return 'metadata';
  // A NuGet package is an installer only under Squirrel's name for one that holds the whole app.
  if (endings.includes('nupkg') && words.at(-1)?.text !== 'full') return 'incomplete';
  if (isPart(words)) return 'part';
  if (isMetadata(endings[0] ?? '', words)) return 'metadata';
  return endings.length === 0 ? whyNoProgram(stem) : undefined;
}

/** Words of files that are never installed, at any position. */
const ANYWHERE = wordSet(`
  sha1sums sha256sums sha384sums sha512sums md5sums b2sums shasums sha1sum sha256sum sha512sum md5sum checksum
  checksums dbgsym dsym dsyms debuginfo debugsource pdb pdbs symbols debugsymbols buildinfo`);

/**
 * Words that mark a file that holds no program if they follow the product's name: `tool-1.0.0-src`. They may
 * also be part of that name: `terraform-docs`, `git-delta`.
 */
const BEHIND_PRODUCT = wordSet(`
  sha1 sha256 sha384 sha512 md5 sbom spdx cyclonedx provenance attestation attestations intoto sigstore
  signature signatures sig src source sources vendor vendored doc docs man manpages completion completions
  license licenses manifest header headers include includes delta deltas bottle docker oci dockerimage`);

/** Words of debug builds, after the product's name or at its end. */
const DEBUG = wordSet('debug dbg');

/** Last words of the names of packages that other programs are built with. */
const DEVELOPMENT = wordSet('dev devel');
const PACKAGE = wordSet('deb rpm apk');

/** First words of files that accompany programs and have no ending either. */
const BESIDE_PROGRAMS = wordSet(
  'license licence copying readme changelog changes notice authors version',
);

/** Endings of files that hold other files: a file with another ending is a program, whatever its name. */
const HOLDS_FILES = wordSet(`
  zip tar gz tgz xz txz bz2 tbz tbz2 zst zstd tzst lz lz4 lzma br 7z rar z deb rpm apk ipk`);

/** cargo-dist's updater, a file beside the program that it updates: `tool-x86_64-apple-darwin-update`. */
const UPDATER = /-(?:unknown|pc|apple)-(?:[a-z0-9]+-){1,2}update$/;

function isPart(words: readonly AssetWord[]): boolean {
  const last = words.at(-1)?.text ?? '';
  return /^(?:part|vol)\d+$/.test(last) || (words.at(-2)?.text === 'part' && /^\d+$/.test(last));
}

function isMetadata(ending: string, words: readonly AssetWord[]): boolean {
  if (words.some(({ text }) => ANYWHERE.has(text))) return true;
  if (ending === '' && BESIDE_PROGRAMS.has(words[0]?.text ?? '') && !words.some(isArch))
    return true;
  const behind = words.findIndex((word, index) => index > 0 && isBehindProduct(word));
  const end = behind === -1 ? words.length : behind;
  const holdsFiles = ending === '' || HOLDS_FILES.has(ending);
  return words.some(({ text }, index) => {
    const isBehind = index >= end || index === words.length - 1;
    if (isBehind && holdsFiles && BEHIND_PRODUCT.has(text)) return true;
    const isAtEnd = index > 0 && index === end - 1;
    if (isAtEnd && DEVELOPMENT.has(text) && PACKAGE.has(ending)) return true;
    return index > 0 && (isBehind || isAtEnd) && DEBUG.has(text);
  });
}

/** Returns whether a word cannot be part of the product's name. */
function isBehindProduct(word: AssetWord): boolean {
  return word.isNumber || word.platform !== undefined || isArch(word);
}

function isArch({ text, isVersion }: AssetWord): boolean {
  return !isVersion && knownArch(text, '') !== undefined;
}

/**
 * Judges a name without a known ending. It may be a program's if only a version, a platform or an
 * architecture follows its last dot.
 */
function whyNoProgram(stem: string): NoArtifact | undefined {
  const parts = stem.split('.');
  const last = parts.pop() ?? '';
  if (parts.length === 0) return undefined;
  const isNumber = /^\d/.test(last);
  if (parts.slice(1).some(endsWholeFile)) {
    return isNumber || /^(?:[a-z][a-z]|[rz]\d\d|part\w*)$/.test(last) ? 'part' : 'metadata';
  }
  if (endsWholeFile(last)) return 'metadata';
  if (/^0\d+$/.test(last)) return 'part';
  // `tool.1` is a manual page.
  if (isNumber) return /\d/.test(parts.join('')) ? undefined : 'unknown-ending';
  const isTold = assetWords(last).some((word) => word.platform !== undefined || isArch(word));
  return isTold ? undefined : 'unknown-ending';
}
