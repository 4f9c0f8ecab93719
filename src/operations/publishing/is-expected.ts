// Platforms and architectures for which a held release must have files before it publishes itself.

import type { Artifact } from '../../contract/resource.ts';
import { foldArch, foldPlatform, NO_ARCH } from '../../domain/decision/artifact.ts';

const UNIVERSAL = 'universal';

/**
 * Whether the artifacts have one for each target: `linux`, or with an architecture `linux/x86_64`. A
 * universal file, and one that tells no architecture, counts for each of its platform.
 */
export function isExpected(
  targets: readonly string[],
  artifacts: readonly Pick<Artifact, 'platform' | 'arch'>[],
): boolean {
  return targets.every((target) => {
    const [platform = '', arch] = target.split('/');
    return artifacts.some((artifact) => {
      if (foldPlatform(artifact.platform) !== foldPlatform(platform)) return false;
      const own = foldArch(artifact.arch);
      return arch === undefined || [NO_ARCH, UNIVERSAL, foldArch(arch)].includes(own);
    });
  });
}

/** Whether a text is a target: a platform and perhaps an arch, in any spelling that artifacts may have. */
export function isTarget(text: string): boolean {
  return /^[^\s/]+(?:\/[^\s/]+)?$/.test(text);
}
