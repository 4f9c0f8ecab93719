// Finds the platform and architecture of each file of a release from the file names; undefined for a file
// that is no artifact. It reads each name by itself, then uses the other names: electron-builder names every
// architecture but x64; Tauri's macOS archive names none, while the disk image beside it does.

import { UNIVERSAL } from '../../decision/artifact/fold-arch.ts';
import { isArchWord, isOddWord } from './asset-arch.ts';
import { WIN32 } from './asset-words.ts';
import { type AssetReading, readAsset } from './read-asset.ts';

export type AssetTarget = { readonly platform: string; readonly arch?: string };

/** Returns the target of a single file; undefined if it is no artifact by its name. Never throws. */
export function classifyAsset(name: string): AssetTarget | undefined {
  return classifyAssets([name])[0];
}

/** Returns the targets of a release's files in order; undefined for files that are no artifacts. */
export function classifyAssets(names: readonly string[]): readonly (AssetTarget | undefined)[] {
  const files = withoutAdditions([...new Set(names)].flatMap(readFile));
  const known = byProduct(byFamily(byPlace(files), archesOfUpdateFiles(names)));
  const targets = new Map(known.map((file) => [file.name, targetOf(file)]));
  return names.map((name) => targets.get(name));
}

type File = AssetReading & { readonly name: string };

const X64 = 'x86_64';
const X86 = 'i686';
/** Maximum number of words of a name that are compared, because others choose the names. */
const WORDS_MAX = 32;
/** Formats that electron-builder lists in its update files for Linux. */
const LISTED_ON_LINUX = /^(?:appimage|deb|rpm|pacman)$/;
/** Names of update files for Linux, of any channel, with their arch. */
const UPDATE_FILE = /^[\w.]+-linux(?:-(arm64|arm|ia32))?\.yml$/i;
const UPDATE_FILE_ARCHES: Readonly<Record<string, string>> = {
  '': X64,
  arm64: 'aarch64',
  arm: 'armv7',
  ia32: X86,
};
/** Words that tell installers of one product apart, and are ignored. */
const INSTALLER_WORDS: ReadonlySet<string> = new Set(['setup', 'installer', 'install', 'portable']);
/** Tauri's update archive for macOS, whose name never contains an arch. */
const TAURI_ARCHIVE = 'app.tar.gz';
/** Platforms whose files for the most common arch often do not name it. */
const HAS_COMMON_ARCH: ReadonlySet<string> = new Set(['darwin', 'linux', 'windows']);

function readFile(name: string): readonly File[] {
  const reading = readAsset(name);
  return 'none' in reading ? [] : [{ name, ...reading }];
}

function targetOf({ platform, arch }: File): AssetTarget {
  return arch === undefined ? { platform } : { platform, arch };
}

/** Drops files whose name extends another's: they belong to that file. */
function withoutAdditions(files: readonly File[]): readonly File[] {
  const names = new Set(files.map(({ name }) => name));
  return files.filter(({ name, ending }) => {
    const [whole] = /^.*(?=\.)/s.exec(name) ?? [];
    return ending !== '' || whole === undefined || !names.has(whole);
  });
}

/** Reads an odd word as an architecture if another name, equal otherwise, has an architecture there. */
function byPlace(files: readonly File[]): readonly File[] {
  const frames = new Set(files.map((file) => frameOf(file, archIndex(file))));
  return files.map((file) => {
    if (file.told !== 'none' || file.words.length > WORDS_MAX) return file;
    const at = file.words.findIndex(
      (word, index) => index > 0 && isOddWord(word) && frames.has(frameOf(file, index)),
    );
    return at === -1 ? file : { ...file, arch: file.words[at]?.text, told: 'own' };
  });
}

function archIndex({ words, platform }: File): number {
  return words.findLastIndex((word) => isArchWord(word, platform));
}

/** Returns a name with a gap at the index of a word. */
function frameOf({ platform, ending, words }: File, gap: number): string {
  const texts = words.map(({ text }, index) => (index === gap ? '*' : text));
  return [platform, ending, ...texts].join(' ');
}

/**
 * Sets the most common architecture, which many tools do not name, on files whose names otherwise equal those
 * of files that name another one.
 */
function byFamily(files: readonly File[], listed: ReadonlySet<string>): readonly File[] {
  const families = archesBy(files, familyOf);
  return files.map((file) => {
    if (file.told !== 'none' || !HAS_COMMON_ARCH.has(file.platform)) return file;
    const named = families.get(familyOf(file)) ?? new Set();
    return withArch(file, unnamedBeside(named, file) ?? listedBeside(named, file, listed));
  });
}

/** Sets the architecture if all files of the product in other formats name the same one. */
function byProduct(files: readonly File[]): readonly File[] {
  const [products, families] = [archesBy(files, productOf), archesBy(files, familyOf)];
  return files.map((file) => {
    const [arch, ...others] = products.get(productOf(file)) ?? [];
    if (file.told !== 'none' || families.has(familyOf(file))) return file;
    if (arch === undefined || others.length > 0) return file;
    const isSure = arch === X64 || arch === UNIVERSAL || file.ending === TAURI_ARCHIVE;
    return isSure ? withArch(file, arch) : file;
  });
}

function withArch(file: File, arch: string | undefined): File {
  return arch === undefined ? file : { ...file, arch, told: 'one' };
}

/** Returns the arch of a file that names none, given the arches that its family names. */
function unnamedBeside(named: ReadonlySet<string>, { words }: File): string | undefined {
  const isNamed = [...named].some((arch) => arch !== UNIVERSAL);
  if (!isNamed) return undefined;
  if (!named.has(X64)) return X64;
  const isWin32 = words.some(({ text }) => text === WIN32) && !named.has(X86);
  return isWin32 ? X86 : undefined;
}

/** Returns the arch of an electron-builder update file that no file of the family names. */
function listedBeside(
  named: ReadonlySet<string>,
  { platform, ending }: File,
  listed: ReadonlySet<string>,
): string | undefined {
  if (platform !== 'linux' || !LISTED_ON_LINUX.test(ending)) return undefined;
  const unnamed = [...listed].filter((arch) => !named.has(arch));
  if (unnamed.includes(X64)) return X64;
  return unnamed.length === 1 ? unnamed[0] : undefined;
}

function archesOfUpdateFiles(names: readonly string[]): ReadonlySet<string> {
  const arches = names.map((name) => {
    const match = UPDATE_FILE.exec(name);
    return match === null ? undefined : UPDATE_FILE_ARCHES[(match[1] ?? '').toLowerCase()];
  });
  return new Set(arches.filter((arch) => arch !== undefined));
}

/** Returns the arches of files, grouped by `nameOf`. */
function archesBy(
  files: readonly File[],
  nameOf: (file: File) => string,
): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const file of files) {
    if (file.arch === undefined || file.told === 'own') continue;
    const name = nameOf(file);
    const arches = found.get(name) ?? new Set();
    found.set(name, arches.add(file.arch));
  }
  return found;
}

/** Returns a key that the files of a product in one format share. */
function familyOf(file: File): string {
  return [file.platform, file.ending, ...productWords(file)].join(' ');
}

/** Returns a key that the files of a product for one platform share. */
function productOf(file: File): string {
  return [file.platform, ...productWords(file)].join(' ');
}

function productWords({ words, platform }: File): readonly string[] {
  return words
    .slice(0, WORDS_MAX)
    .filter((word) => !word.isNumber && word.platform === undefined && !isArchWord(word, platform))
    .map(({ text }) => text)
    .filter((text) => !INSTALLER_WORDS.has(text));
}
