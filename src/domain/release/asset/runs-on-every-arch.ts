// Judges artifacts that name no architecture. One is for every device of its platform only if the artifacts
// beside it name none: a build for one architecture often does not name it.

import type { Artifact } from '../../../contract/resource.ts';
import { foldPlatform } from '../../decision/artifact/artifact.ts';
import { decodedFileName } from '../../decision/artifact/artifact-format.ts';
import { foldArch, NO_ARCH, UNIVERSAL } from '../../decision/artifact/fold-arch.ts';
import { readAsset } from './read-asset.ts';

type Judged = Pick<Artifact, 'platform' | 'arch' | 'url' | 'format'>;

/**
 * Returns whether an artifact runs on every architecture of its platform: it is universal; or it names none,
 * and either no artifact beside it names one or its format runs on all.
 */
export function runsOnEveryArch(artifact: Judged, beside: readonly Judged[]): boolean {
  const platform = foldPlatform(artifact.platform);
  const arch = foldArch(artifact.arch, platform);
  if (arch !== NO_ARCH) return arch === UNIVERSAL;
  return archesBeside(platform, beside).length === 0 || holdsEveryArch(artifact);
}

/** Returns the architectures that artifacts for a folded platform name, each once. */
export function archesBeside(platform: string, beside: readonly Judged[]): readonly string[] {
  const arches = beside
    .filter((other) => foldPlatform(other.platform) === platform)
    .map((other) => foldArch(other.arch, platform));
  return [...new Set(arches)].filter((arch) => arch !== NO_ARCH && arch !== UNIVERSAL);
}

/** Platforms whose packages hold every architecture unless they name one. */
const PACKS_ALL: ReadonlySet<string> = new Set(['android', 'ios']);
/** Endings of programs that an interpreter runs on any machine. */
const INTERPRETED = /(?:^|\.)(?:jar|sh)$/;

function holdsEveryArch({ platform, url = '' }: Judged): boolean {
  if (PACKS_ALL.has(foldPlatform(platform))) return true;
  const reading = readAsset(decodedFileName(url));
  return !('none' in reading) && (reading.told === 'several' || INTERPRETED.test(reading.ending));
}
