// Words of a file name, and whether each is part of a version or names a platform. Only whole words count:
// `darwin`, `Twine` and `rewind` contain `win`, `armory` contains `arm`. Compounds such as `arm_64` are read
// as one word, because `arm` alone means another architecture.

import { knownArch } from '../../decision/artifact/fold-arch.ts';

export type AssetWord = {
  /** Lower case; a compound has no separators. */
  readonly text: string;
  /** Whether it is part of a version with dots. */
  readonly isVersion: boolean;
  /** Whether it is part of a version, or a number. */
  readonly isNumber: boolean;
  /** Platform that it names, if any. */
  readonly platform: string | undefined;
};

/** Reads the words of a name in lower case without its endings, in time linear in its length. */
export function assetWords(stem: string): readonly AssetWord[] {
  return joined(stem.split(BETWEEN_WORDS).flatMap(piecesOf).flatMap(splitJoined)).map(wordOf);
}

/** Means any Windows to Electron Forge, 32-bit Windows to others: the release's other files decide. */
export const WIN32 = 'win32';

type Piece = Pick<AssetWord, 'text' | 'isVersion'>;

const BETWEEN_WORDS = /[-_+\s()[\],~@]/;
const NUMBER = /^v?\d+$/;
const BITS = /^bits?$/;
/** Number of words in the longest name of an architecture: `x86_64_v3`. */
const COMPOUND_WORDS_MAX = 3;
const COMPOUND_LENGTH_MAX = 16;

const PLATFORMS: ReadonlyMap<string, string> = new Map([
  ...wordEntries(
    `windows win winnt winxp ${WIN32} w32 w64 woa woa64 uwp msvc msys msys2 cygwin`,
    'windows',
  ),
  ...wordEntries('mingw mingw32 mingw64 ucrt ucrt64 clang64', 'windows'),
  ...wordEntries('darwin macos mac osx macosx apple', 'darwin'),
  ...wordEntries('linux lin ubuntu debian fedora rhel centos alpine opensuse archlinux', 'linux'),
  ...wordEntries('musl manylinux musllinux', 'linux'),
  ...wordEntries('android androideabi', 'android'),
  ...wordEntries('ios iphoneos ipados', 'ios'),
  ...['freebsd', 'openbsd', 'netbsd', 'dragonfly', 'solaris', 'illumos', 'aix'].map(
    (name): [string, string] => [name, name],
  ),
]);

/** Platform with a suffix in one word: `win64`, `linux32`, `macos13`, `osxarm64`. */
const JOINED = new RegExp(
  '^(windows|win|linux|lin|macosx|macos|mac|osx|darwin|freebsd|android|ios|' +
    'ubuntu|debian|fedora|centos|alpine)([a-z0-9]+)$',
);

/** Splits at dots and marks version parts: 386 is a processor, 1.0.386 is not. */
function piecesOf(part: string): readonly Piece[] {
  const texts = part.split('.');
  const pieces = texts.map((text, index) => {
    const beside = [texts[index - 1] ?? '', texts[index + 1] ?? ''];
    // `1.0.0.64.bit`
    const isBits = BITS.test(texts[index + 1] ?? '');
    const isVersion = !isBits && NUMBER.test(text) && beside.some((each) => NUMBER.test(each));
    return { text, isVersion };
  });
  return pieces.filter(({ text }) => text !== '');
}

function splitJoined(piece: Piece): readonly Piece[] {
  const { text, isVersion } = piece;
  if (isVersion || PLATFORMS.has(text) || knownArch(text, '') !== undefined) return [piece];
  const [, name = '', rest = ''] = JOINED.exec(text) ?? [];
  if (name === '') return [piece];
  const isArch = knownArch(rest, PLATFORMS.get(name) ?? '') !== undefined;
  if (isArch) return [name, rest].map((each) => ({ text: each, isVersion: false }));
  return /^\d+$/.test(rest) ? [{ text: name, isVersion: false }] : [piece];
}

/** Joins words that name an architecture only together: `arm` and `64`, `x86` and `64` and `v3`. */
function joined(pieces: readonly Piece[]): readonly Piece[] {
  const words: Piece[] = [];
  for (let index = 0; index < pieces.length; ) {
    const piece = pieces[index] as Piece;
    const [text, count] = longestCompound(pieces, index) ?? [piece.text, 1];
    words.push({ text, isVersion: piece.isVersion });
    index += count;
  }
  return words;
}

function longestCompound(
  pieces: readonly Piece[],
  from: number,
): readonly [text: string, count: number] | undefined {
  let longest: readonly [string, number] | undefined;
  let text = '';
  for (let index = from; index < from + COMPOUND_WORDS_MAX; index++) {
    const piece = pieces[index];
    if (piece === undefined || piece.isVersion) break;
    text += piece.text;
    if (text.length > COMPOUND_LENGTH_MAX) break;
    if (index > from && knownArch(text, '') !== undefined) longest = [text, index - from + 1];
  }
  return longest;
}

function wordOf({ text, isVersion }: Piece): AssetWord {
  const isNumber = isVersion || NUMBER.test(text);
  return { text, isVersion, isNumber, platform: PLATFORMS.get(text) };
}

/** Returns an entry with this value for each word of a list that blanks separate. */
export function wordEntries<Value>(list: string, value: Value): [string, Value][] {
  return list.split(' ').map((name) => [name, value]);
}

/** Returns the words of a list that blanks or line ends separate. */
export function wordSet(list: string): ReadonlySet<string> {
  return new Set(list.trim().split(/\s+/));
}
