// Reads a file name: its platform and architecture, or why no device installs the file. Names follow the
// conventions of build tools (Tauri, electron-builder, Forge, goreleaser, cargo-dist, dotnet). An installer's
// ending implies the platform; otherwise the last whole word that names one decides. Reading takes time
// linear in the length of the name, because others choose the names.

import { type AssetArch, assetArch } from './asset-arch.ts';
import { assetEndings, INSTALLERS } from './asset-endings.ts';
import { type AssetWord, assetWords } from './asset-words.ts';
import { type NoArtifact, whyNoArtifact } from './no-artifact.ts';

/** An installable file, as its name describes it. */
export type AssetReading = {
  readonly platform: string;
  readonly words: readonly AssetWord[];
  /** Endings in the order of the name, in lower case: `tar.gz`; '' if there are none. */
  readonly ending: string;
} & AssetArch;

/** Reads a name; `none` is the reason why it is no artifact. Never throws. */
export function readAsset(
  name: string,
): AssetReading | { readonly none: NoArtifact | 'no-platform' } {
  if (RELEASES_FILE.test(name)) return { none: 'metadata' };
  const { stem, endings } = assetEndings(name.replace(GLUED_ARCH, '$1-$2').toLowerCase());
  const words = assetWords(stem);
  const none = whyNoArtifact(stem, endings, words);
  if (none !== undefined) return { none };
  const platform = platformOf(endings, words);
  if (platform === undefined) return { none: 'no-platform' };
  const ending = endings.toReversed().join('.');
  return { platform, words, ending, ...assetArch(words, { platform, ending }) };
}

/** `AppARM64.dmg`: an architecture in another case than the product's name is a word of its own. */
const GLUED_ARCH = /([a-z])(ARM64|X64|AMD64|X86)(?![A-Za-z0-9])/g;
/** Index of Squirrel's or Velopack's packages, which has no ending: `RELEASES`, `RELEASES-win-x64`. */
const RELEASES_FILE = /^releases(?:[-._].*)?$/i;

function platformOf(endings: readonly string[], words: readonly AssetWord[]): string | undefined {
  const named = words.findLast(({ platform }) => platform !== undefined)?.platform;
  // Arch Linux packages end in `.pkg.tar.zst`; the inner `pkg` is no macOS installer.
  if (endings.includes('pkg') && endings.includes('tar')) return 'linux';
  if (endings.includes('nupkg')) return named ?? 'windows';
  const possible = INSTALLERS.get(endings.at(-1) ?? '');
  if (possible === undefined) return named;
  return named !== undefined && possible.includes(named) ? named : possible[0];
}
