// Findings in a release as a whole: its version, and the devices that its list of artifacts leaves out.

import { type Finding, warning } from '../../../contract/dry-run.ts';
import { foldPlatform } from '../../decision/artifact/artifact.ts';
import { foldArch, NO_ARCH, UNIVERSAL } from '../../decision/artifact/fold-arch.ts';
import type { SnapshotRelease } from '../../decision/serving-snapshot.ts';
import { compareVersions } from '../../decision/version.ts';
import {
  type ExaminedArtifact,
  type ExaminedRelease,
  type FindingRule,
  isForPeople,
} from './examined-release.ts';
import { isSparkleFormat } from './sparkle-format.ts';

const STABLE = 'stable';
const MAC = 'darwin';
/** Arches on which a universal file for macOS runs. */
const MAC_ARCHES = ['x86_64', 'aarch64'];

/** Arches whose files an appcast offers if its URL names no arch. */
const ANY_APPCAST: ReadonlySet<string> = new Set([UNIVERSAL, NO_ARCH, 'x86_64']);
const APPLE_SILICON = 'aarch64';

export const VERSION_RULES: readonly FindingRule[] = [
  about('version', ({ version, newest }) =>
    newest === undefined || compareVersions(version, newest.version) > 0
      ? undefined
      : `Is below ${newest.release.version}, the newest published release of the channel: devices that ` +
        'can have that one are not offered it',
  ),
  about('version', ({ version, channel }) =>
    channel === STABLE && version.prerelease.length > 0
      ? `Is a prerelease, on the channel ${STABLE}`
      : undefined,
  ),
  about('version', ({ version }) =>
    version.parts[3] === 0
      ? undefined
      : 'Has four parts: Tauri and electron-updater cannot read it, and are offered an older release',
  ),
];

export const COVERAGE_RULES: readonly FindingRule[] = [
  about('artifacts', ({ artifacts }) =>
    artifacts.length === 0 ? 'There are no files: no device can be offered it' : undefined,
  ),
  leftOut,
  about('artifacts', ({ artifacts }) => {
    const forMac = artifacts.filter(({ platform }) => platform === MAC);
    return forMac.length > 0 && forMac.every(isForPeople)
      ? 'For macOS there is only dmg or pkg, which most updaters cannot install'
      : undefined;
  }),
  notInAppcast,
];

/** Makes a rule that warns of one fault; `fault` returns undefined if the release does not have it. */
function about(path: string, fault: (release: ExaminedRelease) => string | undefined): FindingRule {
  return (release) => {
    const message = fault(release);
    return message === undefined ? [] : [warning(path, message)];
  };
}

function leftOut({ artifacts, newest }: ExaminedRelease): readonly Finding[] {
  // An empty list is a finding by itself.
  if (newest === undefined || artifacts.length === 0) return [];
  const left = new Map<string, string>();
  for (const each of newest.release.artifacts) {
    const platform = foldPlatform(each.platform);
    const arch = foldArch(each.arch, platform);
    if (covers(artifacts, platform, arch)) continue;
    const target = arch === NO_ARCH ? platform : `${platform}/${arch}`;
    left.set(target, `${target} has no file, but ${newest.release.version} had one`);
  }
  return [...left.values()].map((message) => warning('artifacts', message));
}

/** Warns of each appcast that leaves the release out if its URL names no arch. */
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
    return [warning('artifacts', message)];
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
