// Versions in the names of files: `Notes-1.2.3-mac-arm64.zip`, and packages of NuGet, which Squirrel and
// Velopack read: `Notes-1.2.3-full.nupkg`, `Notes-1.2.3-osx-full.nupkg`, `Notes.1.2.3.nupkg`.

import { parseVersion, type Version } from '../../decision/version.ts';
import { wordSet } from './asset-words.ts';

/** Three or four numbers with dots between them, and none before or after. */
const NUMBERS = /(?<![\d.])\d+(?:\.\d+){2,3}(?!\.?\d)/g;
/** Words that precede the version of something other than the product. */
const RUNTIMES = wordSet(
  'java jdk jre openjdk python py node nodejs electron qt gtk glibc gcc clang llvm cuda rocm ' +
    'dotnet net php ruby',
);
const WORD_BEFORE = /(?:^|[^a-z])([a-z]+?)[-_. ]?v?$/i;
/** Words that precede the version of an operating system, and how such versions begin. */
const SYSTEMS: readonly (readonly [word: RegExp, version: RegExp])[] = [
  [/(?:mac|macos|osx|macosx)[-_ ]?$/i, /^10\./],
  [/(?:win|windows)[-_ ]?$/i, /^10\.0\./],
  [/ubuntu[-_ ]?$/i, /^\d\d\.(?:04|10)\./],
];
/** Year at the beginning of a date. */
const YEAR = /^(?:19|20)\d\d\./;
const YEARS_FROM = 1900;

/**
 * Returns the numbers in a name that may be a version of the product. Those of runtimes, systems and, where
 * the product's versions do not begin with a year, dates are left out.
 */
export function numbersInName(name: string, { parts: [major] }: Version): readonly string[] {
  const found = [...name.matchAll(NUMBERS)].filter(({ 0: numbers, index }) => {
    const before = name.slice(0, index);
    if (YEAR.test(numbers) && major < YEARS_FROM) return false;
    if (RUNTIMES.has(WORD_BEFORE.exec(before)?.[1]?.toLowerCase() ?? '')) return false;
    return !SYSTEMS.some(([word, version]) => word.test(before) && version.test(numbers));
  });
  return found.map(([numbers]) => numbers);
}

/**
 * Returns whether numbers are those of a version, apart from its prerelease: `1.4.0.0` are those of
 * `1.4.0-beta.2`, and `2026.01.05` those of `2026.1.5`.
 */
export function areNumbersOf(numbers: string, version: Version): boolean {
  const told = parseVersion(numbers);
  if (told === undefined) return false;
  const [short, long] = [plainVersion(told), plainVersion(version)].toSorted(
    (left, right) => left.length - right.length,
  );
  return `${long}.`.startsWith(`${short}.`);
}

/** Returns the numbers of a version, without prerelease and build: at least three. */
export function plainVersion({ canonical }: Version): string {
  return canonical.replace(/[-+].*/, '');
}

const PACKAGE_ENDING = /(?:-(?:full|delta))?\.nupkg$/i;
const PACKAGE_VERSION = /[-.](\d+\.\d+(?:\.\d+){0,2}(?:[-+].*)?)$/;

/** Returns the version text in a package's file name; undefined if there is none. */
export function versionInPackageName(fileName: string): string | undefined {
  return PACKAGE_VERSION.exec(fileName.replace(PACKAGE_ENDING, ''))?.[1];
}

/**
 * Returns whether the part of a file name is this version. After a hyphen it may have a prerelease, or the
 * channel that the package was built for.
 */
export function isNameOfVersion(part: string, version: Version): boolean {
  for (let text = part; ; text = text.slice(0, text.lastIndexOf('-'))) {
    if (parseVersion(text)?.canonical === version.canonical) return true;
    if (!text.includes('-')) return false;
  }
}
