// Which artifact of a release a device installs: platform and arch after alias folding, then the most
// specific arch, then a signed one before an unsigned one, then the order of publishing.

import type { Artifact } from '../contract/resource.ts';

/** A release's artifacts, one per folded platform and arch: the best of those that share the pair. */
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
 * The artifact for a device. Platform and arch are folded; arch `NO_ARCH` is a device that told none,
 * for which an artifact of one arch is never right.
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

/** Stands for "no arch": in an artifact, platform-wide; in a device, not told. */
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

/** The one spelling of a platform: `macOS`, `osx` and `darwin` are all `darwin`. */
export function foldPlatform(platform: string): string {
  const lower = platform.toLowerCase();
  return PLATFORM_ALIASES.get(lower) ?? lower;
}

/** The one spelling of an arch: `x64`, `AMD64` and `x86_64` are all `x86_64`. Absent is `NO_ARCH`. */
export function foldArch(arch: string | undefined): string {
  if (arch === undefined) return NO_ARCH;
  const lower = arch.toLowerCase();
  return ARCH_ALIASES.get(lower) ?? lower;
}

function hasSignature(artifact: Artifact): boolean {
  return artifact.signature !== undefined && artifact.signature !== '';
}
