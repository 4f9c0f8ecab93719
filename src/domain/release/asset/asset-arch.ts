// Finds the architecture in the words of a file name. An unknown word in the position of an architecture is
// kept as the publisher's own name of one: if it were ignored, every device could get the file.

import { knownArch, UNIVERSAL } from '../../decision/artifact/fold-arch.ts';
import { type AssetWord, wordSet } from './asset-words.ts';
import { isOrdinaryWord } from './ordinary-word.ts';

export type AssetArch = {
  /** Undefined if the name has none or several. */
  readonly arch: string | undefined;
  /** `own`: an unknown word in the position of an architecture. */
  readonly told: 'one' | 'several' | 'own' | 'none';
};

/** Platform of a file (folded: see `foldPlatform`), and its endings, such as `tar.gz`. */
export type AssetPlace = { readonly platform: string; readonly ending: string };

/** Reads the architecture. If two different ones are adjacent, the file is for both. */
export function assetArch(words: readonly AssetWord[], place: AssetPlace): AssetArch {
  const strong = words.map((word) => strongArch(word, place.platform));
  const at = strong.findLastIndex((arch) => arch !== undefined);
  if (at !== -1) {
    const arch = strong[at];
    const isPair = strong[at - 1] !== undefined && strong[at - 1] !== arch;
    if (!isPair) return { arch, told: 'one' };
    return { arch: place.platform === 'darwin' ? UNIVERSAL : undefined, told: 'several' };
  }
  const weak = everyArch(words, place) ?? weakArch(words, place) ?? gluedArch(words, place);
  if (weak !== undefined) return { arch: weak, told: 'one' };
  const own = ownArch(words, place);
  return own === undefined ? { arch: undefined, told: 'none' } : { arch: own, told: 'own' };
}

/** Returns whether a word can name an architecture. */
export function isArchWord({ text, isVersion }: AssetWord, platform: string): boolean {
  return !isVersion && (HINTS.has(text) || knownArch(text, platform) !== undefined);
}

/** Returns whether a word may be an unknown name of an architecture. */
export function isOddWord({ text, isNumber, platform }: AssetWord): boolean {
  return !isNumber && platform === undefined && WORD.test(text) && !isOrdinaryWord(text);
}

/** Words that name an architecture only if no other word does. */
const WEAK = wordSet(
  'arm amd intel silicon apple m1 m2 m3 m4 m5 fat 64 32 64bit 64bits 32bit 32bits',
);
/** Weak words that count only directly after a platform: elsewhere they are part of product names. */
const BEHIND_PLATFORM = wordSet('apple m1 m2 m3 m4 m5 fat');
const BITS = /^(?:64|32)$/;
/** Words of platforms and toolchains that imply an architecture if nothing else names one. */
const HINTS: ReadonlyMap<string, string> = new Map([
  ...['w64', 'mingw64', 'ucrt64', 'clang64'].map((word): [string, string] => [word, 'x86_64']),
  ...['w32', 'mingw32'].map((word): [string, string] => [word, 'i686']),
  ...['woa', 'woa64'].map((word): [string, string] => [word, 'aarch64']),
]);
/** Toolchains of 32-bit ARM with a floating-point unit. */
const HARD_FLOAT = /^(?:gnu|musl)?eabihf$/;
/** Words with which package managers mark files for every architecture, by file ending. */
const EVERY_ARCH: readonly (readonly [word: string, ending: RegExp])[] = [
  ['all', /^(?:deb|ipk)$/],
  ['any', /^pkg\.tar/],
  ['neutral', /^(?:msix|appx)/],
];
/** Endings of installers, in whose names a 64 or 32 counts at any position. */
const INSTALLER = /^(?:exe|msi|appimage|deb|rpm|run)$/;
const GLUED_BITS = /[a-z](?:64|32)$/;

function strongArch({ text, isVersion }: AssetWord, platform: string): string | undefined {
  const isWeak = WEAK.has(text) || HINTS.has(text);
  return isVersion || isWeak ? undefined : knownArch(text, platform);
}

function everyArch(
  words: readonly AssetWord[],
  { platform, ending }: AssetPlace,
): string | undefined {
  // goreleaser's word for both Apple architectures.
  if (platform === 'darwin' && words.some(({ text }) => text === 'all')) return UNIVERSAL;
  const last = words.at(-1)?.text;
  const isAny = EVERY_ARCH.some(([word, format]) => word === last && format.test(ending));
  return isAny ? UNIVERSAL : undefined;
}

function weakArch(
  words: readonly AssetWord[],
  { platform, ending }: AssetPlace,
): string | undefined {
  const word = words.findLast(({ text, isVersion }, index) => {
    if (isVersion || !(WEAK.has(text) || HINTS.has(text))) return false;
    const isBehind = words[index - 1]?.platform !== undefined;
    if (BEHIND_PLATFORM.has(text)) return isBehind;
    if (!BITS.test(text)) return true;
    return isBehind || words[index + 1]?.platform !== undefined || INSTALLER.test(ending);
  });
  const arch = word && (HINTS.get(word.text) ?? knownArch(word.text, platform));
  const isHardFloat = words.some(({ text }) => HARD_FLOAT.test(text));
  return isHardFloat && (arch === undefined || arch === 'arm') ? 'armv7' : arch;
}

/** Returns the arch in `tool64.exe` and `tool32.exe`; with other endings such words are product names. */
function gluedArch(
  words: readonly AssetWord[],
  { platform, ending }: AssetPlace,
): string | undefined {
  if (!INSTALLER.test(ending)) return undefined;
  const glued = words.findLast((word) => word.platform === undefined && GLUED_BITS.test(word.text));
  return glued && knownArch(glued.text.slice(-2), platform);
}

/** Names of rare processors, which count at any position. */
const PROCESSOR = new RegExp(
  `^(?:${[
    ...['arm(?:v\\d+\\w*|\\d+\\w+|eb)', 'thumbv\\d\\w*', '(?:aarch64|arm64|x8664|i[3-6]86)\\w+'],
    ...['mips(?:isa)?\\w*(?:\\d|el|le|eb|be)', '(?:ppc|powerpc)\\w*\\d\\w*', 'sparc\\w*\\d+'],
    ...[
      'riscv\\d+\\w+',
      'rv(?:32|64)\\w+',
      'loong\\w*\\d\\w*',
      's390',
      'sh[2-4]\\w{0,3}',
      'hppa\\w*',
    ],
    ...['m68k', 'e2k\\w*', 'or1k', 'k1om', 'wasm(?:32|64)', 'ilp32'],
  ].join('|')})$`,
);
const WORD = /^[a-z][a-z0-9]{2,15}$/;
/** Words between the architecture and the system in a target triple. */
const VENDOR = wordSet('unknown pc apple none');
const ABI = /^(?:(?:gnu|musl|glibc|uclibc|msvc)\w*|static)$/;
/** Endings that imply the platform; such names end in the architecture, after the version. */
const PACKAGE =
  /(?:^|\.)(?:exe|msi|msix|appx|dmg|deb|rpm|appimage|snap|pacman|pkg\.tar\.\w+|apk|ipk)$/;

/** Returns the word that is an unknown name of an architecture; undefined if there is none. */
function ownArch(words: readonly AssetWord[], { ending }: AssetPlace): string | undefined {
  const processor = words.findLast(({ text }) => PROCESSOR.test(text));
  if (processor !== undefined) return processor.text;
  const places = [inTriple(words), behindPlatform(words), beforePlatform(words)];
  if (PACKAGE.test(ending)) places.push(behindVersion(words));
  return places.map((at) => words[at]).find((word) => word !== undefined && isOddWord(word))?.text;
}

/** Returns the index in `tool-ARCH-unknown-linux-gnu`; -1 if there is none, like the functions below. */
function inTriple(words: readonly AssetWord[]): number {
  const vendor = words.findIndex(({ text }, index) => index > 0 && VENDOR.has(text));
  const isTriple = words[vendor + 1]?.platform !== undefined;
  // `tool-apple-darwin` names no architecture.
  return isTriple && (vendor > 1 || words[vendor]?.text !== 'apple') ? vendor - 1 : -1;
}

/** Returns the index in `tool-1.2.3-linux-ARCH` and `tool-linux-ARCH-1.2.3`. */
function behindPlatform(words: readonly AssetWord[]): number {
  const last = words.findLastIndex(({ isNumber }) => !isNumber);
  const before = words.findLastIndex(({ text }, index) => index < last && !ABI.test(text));
  return before > 0 && words[before]?.platform !== undefined ? last : -1;
}

/** Returns the index in `tool-1.2.3-ARCH-linux`. */
function beforePlatform(words: readonly AssetWord[]): number {
  const platform = words.findLastIndex((word) => word.platform !== undefined);
  return words[platform - 2]?.isNumber === true ? platform - 1 : -1;
}

/** Returns the index in `tool_1.2.3_ARCH.deb`. */
function behindVersion(words: readonly AssetWord[]): number {
  const isTold = words.some(({ platform }) => platform !== undefined);
  return !isTold && words.at(-2)?.isNumber === true ? words.length - 1 : -1;
}
