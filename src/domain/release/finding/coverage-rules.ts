// Findings in the list of artifacts as a whole: which devices it leaves out.

import type { Finding } from '../../../contract/dry-run.ts';
import { foldPlatform } from '../../decision/artifact/artifact.ts';
import { foldArch, NO_ARCH, UNIVERSAL } from '../../decision/artifact/fold-arch.ts';
import type { SnapshotRelease } from '../../decision/serving-snapshot.ts';
import {
  type ExaminedArtifact,
  type ExaminedRelease,
  type FindingRule,
  isForPeople,
} from './examined-release.ts';
import { isSparkleFormat } from './sparkle-format.ts';

const MAC = 'darwin';
/** Arches on which a universal file for macOS runs. */
const MAC_ARCHES = ['x86_64', 'aarch64'];

/** Arches that an appcast has files for when its address names none. */
const ANY_APPCAST: ReadonlySet<string> = new Set([UNIVERSAL, NO_ARCH, 'x86_64']);
const APPLE_SILICON = 'aarch64';

export const COVERAGE_RULES: readonly FindingRule[] = [
  noArtifacts,
  leftOut,
  onlyForPeople,
  notInAppcast,
];

function noArtifacts({ artifacts }: ExaminedRelease): readonly Finding[] {
  return artifacts.length === 0 ? [warning('There are no files: no device can be offered it')] : [];
}

function leftOut({ artifacts, newest }: ExaminedRelease): readonly Finding[] {
  // `noArtifacts` already reports an empty list.
  if (newest === undefined || artifacts.length === 0) return [];
  const left = new Map<string, string>();
  for (const each of newest.release.artifacts) {
    const platform = foldPlatform(each.platform);
    const arch = foldArch(each.arch, platform);
    if (covers(artifacts, platform, arch)) continue;
    const target = arch === NO_ARCH ? platform : `${platform}/${arch}`;
    left.set(target, `${target} has no file, but ${newest.release.version} had one`);
  }
  return [...left.values()].map(warning);
}

function onlyForPeople({ artifacts }: ExaminedRelease): readonly Finding[] {
  const forMac = artifacts.filter(({ platform }) => platform === MAC);
  if (forMac.length === 0 || !forMac.every(isForPeople)) return [];
  return [warning('For macOS there is only dmg or pkg, which most updaters cannot install')];
}

/** Tells which appcast leaves the release out where its address names no arch. */
function notInAppcast({ artifacts, others, earlier }: ExaminedRelease): readonly Finding[] {
  const beside = [...others, ...earlier.map(({ release }) => release)];
  return [MAC, 'windows'].flatMap((platform): Finding[] => {
    const arches = artifacts
      .filter(
        (artifact) => artifact.platform === platform && isSparkleFormat(platform, artifact.format),
      )
      .map(({ arch }) => arch);
    const [arch] = arches;
    if (arch === undefined || arches.some((each) => ANY_APPCAST.has(each))) return [];
    const all = new Set([
      ...artifacts.filter((artifact) => artifact.platform === platform).map((each) => each.arch),
      ...beside.flatMap((release) => archesFor(release, platform)),
    ]);
    // An app that has only ever been for Apple silicon has an appcast without an arch.
    if (platform === MAC && arch === APPLE_SILICON && all.size === 1) return [];
    const told = [...new Set(arches)].join(' and ');
    const name = platform === MAC ? 'appcast.xml' : 'appcast-windows.xml';
    const message = `Without ?arch= ${name} leaves it out: its files for Sparkle are for ${told} alone`;
    return [warning(message)];
  });
}

function archesFor({ artifacts }: SnapshotRelease, platform: string): readonly string[] {
  return artifacts
    .filter((artifact) => foldPlatform(artifact.platform) === platform)
    .map(({ arch }) => foldArch(arch, platform));
}

function covers(artifacts: readonly ExaminedArtifact[], platform: string, arch: string): boolean {
  const arches = new Set(
    artifacts.filter((artifact) => artifact.platform === platform).map((artifact) => artifact.arch),
  );
  if (arches.has(arch) || arches.has(UNIVERSAL) || arches.has(NO_ARCH)) return true;
  return platform === MAC && arch === UNIVERSAL && MAC_ARCHES.every((each) => arches.has(each));
}

function warning(message: string): Finding {
  return { path: 'artifacts', severity: 'warning', message };
}
