// Platforms and architectures for which a held release must have files before it publishes itself.

import type { Artifact } from '../../contract/resource.ts';
import { foldPlatform } from '../../domain/decision/artifact.ts';
import { foldArch, NO_ARCH, UNIVERSAL } from '../../domain/decision/fold-arch.ts';

/**
 * Whether the artifacts have one for each target: `linux`, or with an architecture `linux/x86_64`. A
 * universal file, and one that tells no architecture, counts for each of its platform.
 */
export function isExpected(
  targets: readonly string[],
  artifacts: readonly Pick<Artifact, 'platform' | 'arch'>[],
): boolean {
  return targets.every((target) => {
    const [name = '', arch] = target.split('/');
    const platform = foldPlatform(name);
    return artifacts.some((artifact) => {
      if (foldPlatform(artifact.platform) !== platform) return false;
      const own = foldArch(artifact.arch, platform);
      return arch === undefined || [NO_ARCH, UNIVERSAL, foldArch(arch, platform)].includes(own);
    });
  });
}

/** Whether a text is a target: a platform and perhaps an arch, in any spelling that artifacts may have. */
export function isTarget(text: string): boolean {
  return /^[^\s/]+(?:\/[^\s/]+)?$/.test(text);
}
