// Selects the artifact of a release that a device installs: by platform and arch after alias folding, then
// the most specific arch, then a signed artifact before an unsigned one, then the order of publishing.

import { type Failure, invalidField } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { parseUrl } from '../../contract/parse-url.ts';
import type { Artifact } from '../../contract/resource.ts';
import { isLongerThan, isStorable } from '../../contract/text.ts';

/** Artifacts of a release by folded platform, then arch: the best of those that share the pair. */
export type ArtifactIndex = ReadonlyMap<string, ReadonlyMap<string, Artifact>>;

/** Builds the index; among equals a signed artifact wins, then the first published. */
export function indexArtifacts(artifacts: readonly Artifact[]): ArtifactIndex {
  const index = new Map<string, Map<string, Artifact>>();
  for (const artifact of artifacts) {
    const platform = foldPlatform(artifact.platform);
    const byArch = index.get(platform) ?? new Map<string, Artifact>();
    index.set(platform, byArch);
    const arch = foldArch(artifact.arch);
    const best = byArch.get(arch);
    const isBetter = best === undefined || (hasSignature(artifact) && !hasSignature(best));
    if (isBetter) byArch.set(arch, artifact);
  }
  return index;
}

/**
 * Returns the artifact for a device. Platform and arch are folded. A device that names no arch (`NO_ARCH`)
 * never gets an artifact that is for one arch.
 */
export function selectArtifact(
  index: ArtifactIndex,
  platform: string,
  arch: string,
): Artifact | undefined {
  const byArch = index.get(platform);
  if (byArch === undefined) return undefined;
  if (arch === NO_ARCH) return byArch.get(NO_ARCH) ?? byArch.get(UNIVERSAL);
  return byArch.get(arch) ?? byArch.get(UNIVERSAL) ?? byArch.get(NO_ARCH);
}

/** Arch of an artifact that is for the whole platform, and of a device that names none. */
export const NO_ARCH = '';
const UNIVERSAL = 'universal';

const PLATFORM_ALIASES: ReadonlyMap<string, string> = new Map([
  ['macos', 'darwin'],
  ['mac', 'darwin'],
  ['osx', 'darwin'],
  ['win32', 'windows'],
  ['win', 'windows'],
]);

const ARCH_ALIASES: ReadonlyMap<string, string> = new Map([
  ['x64', 'x86_64'],
  ['amd64', 'x86_64'],
  ['arm64', 'aarch64'],
  ['ia32', 'i686'],
  ['x86', 'i686'],
  ['i386', 'i686'],
]);

/** Returns the one spelling of a platform: `macOS`, `osx` and `darwin` are all `darwin`. */
export function foldPlatform(platform: string): string {
  const lower = platform.toLowerCase();
  return PLATFORM_ALIASES.get(lower) ?? lower;
}

/** Returns the one spelling of an arch: `x64` and `AMD64` are `x86_64`; undefined is `NO_ARCH`. */
export function foldArch(arch: string | undefined): string {
  if (arch === undefined) return NO_ARCH;
  const lower = arch.toLowerCase();
  return ARCH_ALIASES.get(lower) ?? lower;
}

/** Returns the format that an artifact's address ends on, in lower case without the dot; '' if on none. */
export function formatOf(url: string): string {
  const name = fileNameOf(url);
  return name.includes('.') ? name.slice(name.lastIndexOf('.') + 1).toLowerCase() : '';
}

/** Returns the last part of an address's path, still percent-encoded; '' if there is none. */
export function fileNameOf(url: string): string {
  return parseUrl(url)?.pathname.split('/').at(-1) ?? '';
}

/** Refuses a platform or arch that no artifact can have and no record could keep; `path` names it. */
export function refuseArtifactName(path: string, name: string): Failure<'invalid'> | undefined {
  if (isLongerThan(name, LIMIT.artifactNameLengthMax)) {
    return invalidField(path, `Must have at most ${LIMIT.artifactNameLengthMax} characters`);
  }
  return isStorable(name) ? undefined : invalidField(path, 'Must not contain NUL');
}

function hasSignature(artifact: Artifact): boolean {
  return artifact.signature !== undefined && artifact.signature !== '';
}
