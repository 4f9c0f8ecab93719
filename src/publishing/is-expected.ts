// Platforms and architectures for which a held release must have files before it publishes itself.

import type { Artifact } from '../contract/resource.ts';
import { foldPlatform } from '../domain/decision/artifact.ts';
import { foldArch } from '../domain/decision/fold-arch.ts';
import { runsOnEveryArch } from '../domain/release/runs-on-every-arch.ts';

/**
 * Whether the artifacts have one for each target: `linux`, or with an architecture `linux/x86_64`. A file
 * that runs on every architecture counts for each of its platform; one that tells none does not while others
 * tell theirs, because it may be for any.
 */
export function isExpected(
  targets: readonly string[],
  artifacts: readonly Pick<Artifact, 'platform' | 'arch' | 'url' | 'format'>[],
): boolean {
  return targets.every((target) => {
    const [name = '', arch] = target.split('/');
    const platform = foldPlatform(name);
    return artifacts.some((artifact) => {
      if (foldPlatform(artifact.platform) !== platform) return false;
      if (arch === undefined) return true;
      const isWanted = foldArch(artifact.arch, platform) === foldArch(arch, platform);
      return isWanted || runsOnEveryArch(artifact, artifacts);
    });
  });
}

/** Whether a text is a target: a platform and perhaps an arch, in any spelling that artifacts may have. */
export function isTarget(text: string): boolean {
  return /^[^\s/]+(?:\/[^\s/]+)?$/.test(text);
}
