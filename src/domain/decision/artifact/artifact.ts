// Selects the artifact that a device installs. Platform and arch must match after alias folding, and the
// device must be able to install it. Then the order is: the most specific arch, signed before unsigned, the
// format that best replaces a running app, the order of publishing.

import { wireAddress } from '../../../contract/address.ts';
import { type Failure, invalidField } from '../../../contract/failure.ts';
import { LIMIT } from '../../../contract/limit.ts';
import type { Artifact } from '../../../contract/resource.ts';
import { isLongerThan, isStorable, NOT_STORABLE } from '../../../contract/text.ts';
import {
  ANY_KIND,
  artifactFormat,
  fileNameOf,
  formatRank,
  isDelta,
  kindOf,
} from './artifact-format.ts';
import { foldArch, NO_ARCH, UNIVERSAL } from './fold-arch.ts';

/** Artifacts of a release by folded platform, then by arch; each list is best first. */
export type ArtifactIndex = ReadonlyMap<string, ReadonlyMap<string, readonly IndexedArtifact[]>>;

/** An artifact with values derived from it. */
export type IndexedArtifact = {
  readonly artifact: Artifact;
  /** Undefined if the format is not known. */
  readonly format: string | undefined;
  /** Kind of installation that it replaces; undefined if the format is not known. */
  readonly kind: string | undefined;
  /** Whether it has a URL and a signature, so that a client that checks signatures can install it. */
  readonly isVerifiable: boolean;
};

/** What a device can install among the artifacts for its platform and arch. */
export type Installable = {
  /** Kind that the device was installed from; `ANY_KIND` if the device does not report it. */
  readonly kind: string;
  /** Whether an artifact must have both a URL and a signature, as the client or the channel demands. */
  readonly mustBeSigned: boolean;
};

/** Value for a device that reports nothing about what it can install. */
export const ANYTHING: Installable = { kind: ANY_KIND, mustBeSigned: false };

/** Returns the artifact with its URL in the form that clients get. */
export function withWireAddress<Given extends Artifact>(artifact: Given): Given {
  const { url } = artifact;
  const written = url === undefined ? undefined : wireAddress(url);
  return written === url ? artifact : { ...artifact, url: written };
}

/**
 * Indexes artifacts except deltas, which no device can install by themselves. Order for one platform and
 * arch: signed first, best format, first published.
 */
export function indexArtifacts(artifacts: readonly Artifact[]): ArtifactIndex {
  const index = new Map<string, Map<string, IndexedArtifact[]>>();
  for (const artifact of artifacts) {
    if (isDelta(artifact)) continue;
    const platform = foldPlatform(artifact.platform);
    const byArch = index.get(platform) ?? new Map<string, IndexedArtifact[]>();
    index.set(platform, byArch);
    const arch = foldArch(artifact.arch, platform);
    const known = byArch.get(arch) ?? [];
    byArch.set(arch, known);
    known.push(indexed(withWireAddress(artifact)));
  }
  for (const [platform, byArch] of index) {
    for (const known of byArch.values()) if (known.length > 1) sortByPreference(platform, known);
  }
  return index;
}

/**
 * Returns the best artifact that `fits`, for a folded platform and arch. A device that names no arch
 * (`NO_ARCH`) never gets an artifact for one specific arch.
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

/** Returns whether a device can install an artifact for its platform and arch. */
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

/** Sorts artifacts for one platform and arch, best first; equal ones keep the order of publishing. */
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
 * Returns the artifacts without a format whose file name extends that of another artifact, such as a checksum
 * file `app.zip.sha256`.
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

/** Returns the canonical spelling of a platform: `macOS`, `osx` and `darwin` are all `darwin`. */
export function foldPlatform(platform: string): string {
  const lower = platform.toLowerCase();
  return PLATFORM_ALIASES.get(lower) ?? lower;
}

/** Returns the file extension of a URL in lower case without the dot; '' if there is none. */
export function extensionOf(url: string): string {
  const name = fileNameOf(url);
  return name.includes('.') ? name.slice(name.lastIndexOf('.') + 1).toLowerCase() : '';
}

/** Refuses a platform or arch that is too long or that PostgreSQL cannot store; `path` names the field. */
export function refuseArtifactName(path: string, name: string): Failure | undefined {
  if (isLongerThan(name, LIMIT.artifactNameLengthMax)) {
    return invalidField(path, `Must have at most ${LIMIT.artifactNameLengthMax} characters`);
  }
  return isStorable(name) ? undefined : invalidField(path, NOT_STORABLE);
}

function hasSignature(artifact: Artifact): boolean {
  return artifact.signature !== undefined && artifact.signature !== '';
}
