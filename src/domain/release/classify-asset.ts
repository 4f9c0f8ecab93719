// Classification of a release asset by its file name: the platform and architecture it is for, or nothing
// when the file is not an artifact (checksums, signatures, manifests, sources, debug symbols).
//
// Names follow the conventions of the build tools (Tauri, electron-builder, Forge, goreleaser, cargo-dist,
// dotnet). The steps: a metadata ending excludes the file; an installer's ending tells the platform;
// otherwise whole words of the name do, and the last such word wins. Only whole words count: `darwin`,
// `Twine` and `rewind` contain `win`, `armory` contains `arm`. Time is linear in the length of the name,
// because names come from outside.

export type AssetTarget = { readonly platform: string; readonly arch?: string };

/** Returns the target of an asset, or undefined when its name is not an artifact's. Never throws. */
export function classifyAsset(name: string): AssetTarget | undefined {
  if (RELEASES_FILE.test(name)) return undefined;
  const { stem, endings } = splitName(name.toLowerCase());
  const words = wordsOf(stem);
  if (isMetadata(endings, words)) return undefined;
  const platform = platformOf(endings, words);
  if (platform === undefined) return undefined;
  const arch = archOf(words, platform);
  return arch === undefined ? { platform } : { platform, arch };
}

/** Index of Squirrel's or Velopack's packages, which has no ending: `RELEASES`, `RELEASES-win-x64`. */
const RELEASES_FILE = /^releases(?:[-._].*)?$/i;

const ARCHIVES = setOf(`zip tar gz tgz xz txz bz2 tbz tbz2 zst zstd tzst lz lz4 lzma br 7z rar z`);

const METADATA = setOf(`
  sha1 sha224 sha256 sha384 sha512 sha1sum sha256sum sha384sum sha512sum md5 md5sum blake2 blake3 b2 b3
  b2sum crc32 sfv sum sums digest checksum checksums sig sigs signature minisig sign asc gpg pgp p7s pem
  crt cer cert der pub key att attestation intoto sigstore bundle provenance sbom spdx cdx cyclonedx bom
  json jsonl json5 yml yaml toml xml plist txt md markdown rst html htm css csv tsv log pdf ini cfg conf
  blockmap zsync delta torrent map pdb dsym sym symbols debug dbg ddeb snupkg idsig appinstaller rb ps1
  nuspec lock patch diff png jpg jpeg gif svg ico webp mp4`);

/** Last words of files that belong to a release but are not installed. */
const METADATA_WORDS = setOf(`
  sha1 sha256 sha384 sha512 md5 checksum checksums sbom spdx cyclonedx provenance attestation attestations
  intoto sigstore src source sources vendor vendored docs doc manpages completions licenses manifest`);

/** Words that name a platform anywhere in a file name. */
const METADATA_ANYWHERE = setOf(`
  sha1sums sha256sums sha384sums sha512sums md5sums b2sums shasums dbgsym dsym dsyms debuginfo debugsource
  pdb pdbs symbols debugsymbols`);

/** Platforms of installer endings: the first one, unless a word in the name tells another of them. */
const INSTALLERS: ReadonlyMap<string, readonly string[]> = new Map([
  ...entries('exe msi msix msixbundle appx appxbundle nsis', ['windows']),
  ...entries('dmg mpkg', ['darwin']),
  // `app` may be part of a product's name, and GitHub replaces the space before it by a dot.
  ...entries('app', ['darwin', 'ios', 'linux', 'windows']),
  ...entries('deb rpm appimage snap flatpak pacman run ipk', ['linux']),
  ...entries('pkg', ['darwin', 'freebsd', 'netbsd']),
  ...entries('apk', ['android', 'linux']),
  ...entries('aab apks xapk', ['android']),
  ...entries('ipa', ['ios']),
]);

const PLATFORMS: ReadonlyMap<string, string> = new Map([
  ...entries('windows win winnt mingw mingw32 mingw64 msvc msys uwp', 'windows'),
  ...entries('darwin macos mac osx macosx apple', 'darwin'),
  ...entries(
    'linux ubuntu debian fedora rhel centos alpine opensuse archlinux musl manylinux',
    'linux',
  ),
  ...entries('android androideabi', 'android'),
  ...entries('ios iphoneos ipados', 'ios'),
  ...['freebsd', 'openbsd', 'netbsd', 'dragonfly', 'solaris', 'illumos', 'aix'].map(
    (name): [string, string] => [name, name],
  ),
]);

/**
 * Words that name an architecture. Rare ones are listed too: an unrecognised one would make the file fit
 * every device.
 */
const ARCHS: ReadonlyMap<string, string> = new Map([
  ...entries('x64 amd64 amd64v1 amd64v2 amd64v3 amd64v4 x8664 em64t', 'x86_64'),
  ...entries('x86 i386 i486 i586 i686 386 ia32', 'i686'),
  ...entries('aarch64 arm64 arm64e arm64v8 armv8 armv8a armv8l', 'aarch64'),
  ...entries('armv7 armv7l armv7a armv7hf armhf armhfp arm32v7 v7a gnueabihf', 'armv7'),
  ...entries('armv6 armv6l armv6hf arm32v6', 'armv6'),
  ...entries('armv5 armv5l armv5te armel arm32v5', 'armv5'),
  ...entries('universal universal2', 'universal'),
  ...entries('riscv64 riscv64gc', 'riscv64'),
  ...entries('ppc64le powerpc64le ppc64el', 'ppc64le'),
  ...entries('ppc64 powerpc64', 'ppc64'),
  ...entries('loong64 loongarch64', 'loong64'),
  ...['s390x', 'mips', 'mipsle', 'mips64', 'mips64le', 'mipsel', 'mips64el', 'sparc64'].map(
    (name): [string, string] => [name, name],
  ),
]);

/** Ambiguous words for an architecture, which count only when no other word names one. */
const WEAK_ARCHS: ReadonlyMap<string, string> = new Map([
  ...entries('64bit intel intel64', 'x86_64'),
  ...entries('32bit', 'i686'),
  ...entries('arm', 'armv7'),
  ...entries('silicon applesilicon', 'aarch64'),
]);

/** `win64`, `linux32`, `macos13`, `osx-arm64` written as `osxarm64`. Forge's `win32` is every Windows. */
const JOINED = /^(windows|win|linux|macosx|macos|mac|osx|darwin|freebsd|android|ios)([a-z0-9_]+)$/;

type SplitName = { readonly stem: string; readonly endings: readonly string[] };

/** `app.tar.gz.sig` is `app` with the endings `sig`, `gz`, `tar`: what was packed last comes first. */
function splitName(name: string): SplitName {
  const endings: string[] = [];
  let stem = name;
  for (;;) {
    const ending = endingOf(stem);
    if (ending === undefined) return { stem, endings };
    endings.push(ending);
    stem = stem.slice(0, stem.length - ending.length - 1);
    if (!ARCHIVES.has(ending)) return { stem, endings };
  }
}

function endingOf(name: string): string | undefined {
  const ending = name.slice(name.lastIndexOf('.') + 1);
  const isKnown = ARCHIVES.has(ending) || METADATA.has(ending) || INSTALLERS.has(ending);
  const isNupkg = ending === 'nupkg';
  return ending.length < name.length && (isKnown || isNupkg) ? ending : undefined;
}

/** Splits a name into words and leaves out version numbers: 386 is a processor, 1.0.386 is not. */
function wordsOf(stem: string): string[] {
  const words = stem
    .replace(/x86[-_.]64/g, 'x64')
    .split(/[-_+\s()[\],~@]/)
    .flatMap((part) => {
      const pieces = part.split('.');
      return pieces.filter((piece, index) => {
        const neighbours = [pieces[index - 1], pieces[index + 1]];
        return (
          !isNumber(piece) || !neighbours.some((each) => each !== undefined && isVersion(each))
        );
      });
    });
  return words.filter((word) => word !== '').flatMap(splitJoined);
}

function isNumber(text: string): boolean {
  return /^\d+$/.test(text);
}

function isVersion(text: string): boolean {
  return /^v?\d+$/.test(text);
}

function splitJoined(word: string): string[] {
  if (PLATFORMS.has(word) || ARCHS.has(word)) return [word];
  const [, platform = '', rest = ''] = JOINED.exec(word) ?? [];
  if (rest === '64') return [platform, '64bit'];
  if (rest === '32') return platform === 'win' ? [platform] : [platform, '32bit'];
  if (isNumber(rest)) return [platform];
  return ARCHS.has(rest) ? [platform, rest] : [word];
}

function isMetadata(endings: readonly string[], words: readonly string[]): boolean {
  if (endings.some((ending) => METADATA.has(ending))) return true;
  // A NuGet package is an installer only as Squirrel names it: one that holds the whole app.
  if (endings.includes('nupkg') && words.at(-1) !== 'full') return true;
  return (
    METADATA_WORDS.has(words.at(-1) ?? '') || words.some((word) => METADATA_ANYWHERE.has(word))
  );
}

function platformOf(endings: readonly string[], words: readonly string[]): string | undefined {
  const named = lastOf(words, PLATFORMS);
  // Arch Linux packs `.pkg.tar.zst`; its inner ending is no macOS installer.
  if (endings.includes('pkg') && endings.includes('tar')) return 'linux';
  if (endings.includes('nupkg')) return named ?? 'windows';
  const possible = INSTALLERS.get(endings.at(-1) ?? '');
  if (possible === undefined) return named;
  return named !== undefined && possible.includes(named) ? named : possible[0];
}

function archOf(words: readonly string[], platform: string): string | undefined {
  const said = words.map((word) => ARCHS.get(word));
  const at = said.findLastIndex((arch) => arch !== undefined);
  if (at === -1) return weakArchOf(words, platform);
  const arch = said[at];
  const isPair = said[at - 1] !== undefined && said[at - 1] !== arch;
  if (!isPair) return arch;
  // `x64-arm64`: one file for both.
  return platform === 'darwin' ? 'universal' : undefined;
}

function weakArchOf(words: readonly string[], platform: string): string | undefined {
  // goreleaser's name of a file for both of Apple's architectures.
  if (platform === 'darwin' && words.includes('all')) return 'universal';
  // GitHub makes dots of spaces, and `64-bit` is two words.
  const joined = words.map((word, index) =>
    word === 'bit' ? `${words[index - 1] ?? ''}bit` : word,
  );
  return lastOf(joined, WEAK_ARCHS);
}

function lastOf(words: readonly string[], known: ReadonlyMap<string, string>): string | undefined {
  const word = words.findLast((each) => known.has(each));
  return word === undefined ? undefined : known.get(word);
}

function setOf(list: string): ReadonlySet<string> {
  return new Set(list.trim().split(/\s+/));
}

function entries<Value>(list: string, value: Value): [string, Value][] {
  return list.split(' ').map((name) => [name, value]);
}
