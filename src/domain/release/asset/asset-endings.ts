// Endings of file names: which files devices install, and which belong to other files. An artifact must have
// a known ending: new endings of checksums and signatures appear often, new ways to install rarely.

import { wordEntries, wordSet } from './asset-words.ts';

/** A name without its endings, and the endings, outermost first. */
export type AssetEndings = { readonly stem: string; readonly endings: readonly string[] };

/** Splits a name in lower case: `app.tar.gz.sig` is `app` with the endings `sig`, `gz`, `tar`. */
export function assetEndings(name: string): AssetEndings {
  const endings: string[] = [];
  let stem = name;
  for (;;) {
    const ending = stem.slice(stem.lastIndexOf('.') + 1);
    if (!isKnown(ending) || ending.length === stem.length) return { stem, endings };
    endings.push(ending);
    stem = stem.slice(0, stem.length - ending.length - 1);
    // Only an archive or compression can have another ending before its own.
    if (!ARCHIVES.has(ending)) return { stem, endings };
  }
}

/** Returns whether an ending is that of a checksum, a signature or another file never installed. */
export function isMetadataEnding(ending: string): boolean {
  return METADATA.has(ending);
}

/**
 * Returns whether a part of a name between dots begins with the ending of a whole file, so that the rest
 * extends that name, as in `app.zip.dgst` and `app.7z.001`.
 */
export function endsWholeFile(part: string): boolean {
  return WHOLE_FILES.has(/^[a-z0-9]*/.exec(part)?.[0] ?? '');
}

/** Platforms of each installer ending: the first one counts, unless the name contains another one of them. */
export const INSTALLERS: ReadonlyMap<string, readonly string[]> = new Map([
  ...wordEntries('exe msi msix msixbundle appx appxbundle nsis', ['windows']),
  ...wordEntries('dmg mpkg', ['darwin']),
  // `app` may be part of a product's name: GitHub replaces the space before it with a dot.
  ...wordEntries('app', ['darwin', 'ios', 'linux', 'windows']),
  ...wordEntries('deb rpm appimage snap flatpak pacman run ipk eopkg swu raucb', ['linux']),
  ...wordEntries('pkg', ['darwin', 'freebsd', 'netbsd']),
  ...wordEntries('apk', ['android', 'linux']),
  ...wordEntries('aab apks xapk', ['android']),
  ...wordEntries('ipa', ['ios']),
]);

const ARCHIVES = wordSet(`
  zip tar gz tgz xz txz bz2 tbz tbz2 zst zstd tzst lz lz4 lzma br 7z rar z`);

/** Endings of programs whose platform only the rest of the name can show. */
const PROGRAMS = wordSet('jar sh bin nupkg');

const METADATA = wordSet(`
  sha sha1 sha2 sha3 sha224 sha256 sha384 sha512 sha1sum sha256sum sha384sum sha512sum md5 md5sum blake2
  blake2b blake2s blake3 b2 b3 b2sum b3sum crc crc32 sfv sum sums hash hashes digest dgst checksum checksums
  sig sigs signature minisig sign asc gpg pgp p7b p7c p7m p7s tsr tsq ots pem crt cer cert der pub key
  att attestation intoto sigstore bundle provenance sbom spdx cdx cyclonedx bom vex
  json jsonl json5 yml yaml toml xml plist txt md markdown rst html htm css csv tsv log pdf ini cfg conf
  blockmap zsync delta torrent metalink meta4 map pdb dsym sym symbols debug dbg ddeb dsc buildinfo
  snupkg idsig appinstaller rb ps1 nuspec lock patch diff png jpg jpeg gif svg ico webp mp4
  whl gem crate vsix crx xpi conda egg aar asar`);

/** Endings of complete files; anything after them marks a file that belongs to them. */
const WHOLE_FILES = wordSet(`
  zip tar gz tgz xz txz bz2 tbz2 zst 7z rar exe msi msix msixbundle dmg deb rpm appimage flatpak apk nupkg
  swu raucb`);

function isKnown(ending: string): boolean {
  return [ARCHIVES, METADATA, INSTALLERS, PROGRAMS].some((endings) => endings.has(ending));
}
