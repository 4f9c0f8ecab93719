// Selects the artifact of a release that a device installs: by platform and arch after alias folding, by what
// the device can install, then the most specific arch, then a signed artifact before an unsigned one, then
// the format that replaces a running app best, then the order of publishing.

import { type Failure, invalidField } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { Artifact } from '../../contract/resource.ts';
import { isLongerThan, isStorable, NOT_STORABLE } from '../../contract/text.ts';
import { ANY_KIND, artifactFormat, fileNameOf, formatRank, kindOf } from './artifact-format.ts';
import { foldArch, NO_ARCH, UNIVERSAL } from './fold-arch.ts';

/** Artifacts of a release by folded platform, then arch: those that share the pair, best first. */
export type ArtifactIndex = ReadonlyMap<string, ReadonlyMap<string, readonly IndexedArtifact[]>>;

/** Artifact with what follows from it. */
export type IndexedArtifact = {
  readonly artifact: Artifact;
  /** Its format; undefined when it is not known. */
  readonly format: string | undefined;
  /** Kind of installation that it replaces; undefined when its format is not known. */
  readonly kind: string | undefined;
  /** Whether a client that checks signatures can install it: it has an address and a signature. */
  readonly isVerifiable: boolean;
};

/** What a device can install of the artifacts for its platform and arch. */
export type Installable = {
  /** Kind that the device was installed from; `ANY_KIND` when it does not tell. */
  readonly kind: string;
  /** Whether it fails on an artifact without an address and a signature. */
  readonly mustBeSigned: boolean;
};

/** What a device can install that tells nothing of it. */
export const ANYTHING: Installable = { kind: ANY_KIND, mustBeSigned: false };

/** Builds the index; among equals a signed artifact wins, then the best format, then the first published. */
export function indexArtifacts(artifacts: readonly Artifact[]): ArtifactIndex {
  const index = new Map<string, Map<string, IndexedArtifact[]>>();
  for (const artifact of artifacts) {
    const platform = foldPlatform(artifact.platform);
    const byArch = index.get(platform) ?? new Map<string, IndexedArtifact[]>();
    index.set(platform, byArch);
    const arch = foldArch(artifact.arch, platform);
    const known = byArch.get(arch) ?? [];
    byArch.set(arch, known);
    known.push(indexed(artifact));
  }
  for (const [platform, byArch] of index) {
    for (const known of byArch.values()) if (known.length > 1) sortByPreference(platform, known);
  }
  return index;
}

/**
 * Returns the artifact for a device, among those that fit. Platform and arch are folded. A device that names
 * no arch (`NO_ARCH`) never gets an artifact that is for one arch.
 */
export function selectArtifact(
  index: ArtifactIndex,
  platform: string,
  arch: string,
  fits: (artifact: IndexedArtifact) => boolean = () => true,
): Artifact | undefined {
  const byArch = index.get(platform);
  if (byArch === undefined) return undefined;
  const arches = arch === NO_ARCH ? [NO_ARCH, UNIVERSAL] : [arch, UNIVERSAL, NO_ARCH];
  for (const each of arches) {
    const fitting = byArch.get(each)?.find(fits);
    if (fitting !== undefined) return fitting.artifact;
  }
  return undefined;
}

/** Whether a device can install an artifact that is for its platform and arch. */
export function canInstall(
  { kind, mustBeSigned }: Installable,
  { kind: offered, isVerifiable }: IndexedArtifact,
): boolean {
  return (kind === ANY_KIND || kind === offered) && (isVerifiable || !mustBeSigned);
}

function indexed(artifact: Artifact): IndexedArtifact {
  const format = artifactFormat(artifact);
  return {
    artifact,
    format,
    kind: format === undefined ? undefined : kindOf(format),
    isVerifiable: artifact.url !== undefined && hasSignature(artifact),
  };
}

/** Sorts artifacts for the same platform and arch, best first; equals keep the order of publishing. */
function sortByPreference(platform: string, artifacts: IndexedArtifact[]): void {
  const additions = additionsAmong(artifacts);
  artifacts.sort((one, other) => {
    const byPlace = Number(additions.has(one)) - Number(additions.has(other));
    if (byPlace !== 0) return byPlace;
    const [left, right] = [one.artifact, other.artifact];
    const bySignature = Number(hasSignature(right)) - Number(hasSignature(left));
    if (bySignature !== 0) return bySignature;
    return formatRank(platform, artifactFormat(left)) - formatRank(platform, artifactFormat(right));
  });
}

/**
 * Returns artifacts without a format whose file has the name of another one with something added: checksums
 * and the like, which belong to that file.
 */
function additionsAmong(artifacts: readonly IndexedArtifact[]): ReadonlySet<IndexedArtifact> {
  const names = artifacts.map(({ artifact: { url } }) =>
    url === undefined ? '' : fileNameOf(url),
  );
  const wholes = names.filter((name) => name !== '');
  return new Set(
    artifacts.filter(({ format }, index) => {
      const name = names[index] ?? '';
      return format === undefined && wholes.some((whole) => name.startsWith(`${whole}.`));
    }),
  );
}

const PLATFORM_ALIASES: ReadonlyMap<string, string> = new Map([
  ['macos', 'darwin'],
  ['mac', 'darwin'],
  ['osx', 'darwin'],
  ['win32', 'windows'],
  ['win', 'windows'],
]);

/** Returns the one spelling of a platform: `macOS`, `osx` and `darwin` are all `darwin`. */
export function foldPlatform(platform: string): string {
  const lower = platform.toLowerCase();
  return PLATFORM_ALIASES.get(lower) ?? lower;
}

/** Returns the extension that an artifact's address ends on, in lower case without the dot; '' if on none. */
export function extensionOf(url: string): string {
  const name = fileNameOf(url);
  return name.includes('.') ? name.slice(name.lastIndexOf('.') + 1).toLowerCase() : '';
}

/** Refuses a platform or arch that no artifact can have and no record could keep; `path` names it. */
export function refuseArtifactName(path: string, name: string): Failure<'invalid'> | undefined {
  if (isLongerThan(name, LIMIT.artifactNameLengthMax)) {
    return invalidField(path, `Must have at most ${LIMIT.artifactNameLengthMax} characters`);
  }
  return isStorable(name) ? undefined : invalidField(path, NOT_STORABLE);
}

function hasSignature(artifact: Artifact): boolean {
  return artifact.signature !== undefined && artifact.signature !== '';
}
