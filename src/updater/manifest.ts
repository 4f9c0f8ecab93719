// Update checks of the contract (`/u/…`), which Tauri's updater also makes: the device sends its platform,
// arch and version, and gets the manifest of the release to install, or 204. docs/contract.md 2.5 lists the
// manifest's fields. Tauri's updater accepts them: there is neither `name` nor `platforms`, and `pub_date` is
// in RFC 3339. An empty url or signature would break it; none can be published.

import { isFailure } from '../contract/failure.ts';
import type { Artifact, ChannelUpdateMode, UpdateManifest } from '../contract/resource.ts';
import {
  ANYTHING,
  foldPlatform,
  type Installable,
  refuseArtifactName,
} from '../domain/decision/artifact/artifact.ts';
import { ANY_KIND, readKind } from '../domain/decision/artifact/artifact-format.ts';
import { foldArch } from '../domain/decision/artifact/fold-arch.ts';
import {
  type ArtifactCandidate,
  type CandidateForm,
  candidatesFor,
} from '../domain/decision/catalog.ts';
import type { Plan } from '../domain/decision/plan.ts';
import type { SnapshotRelease } from '../domain/decision/serving-snapshot.ts';
import { isSemVer } from '../domain/decision/version.ts';
import type { Question, Updater } from './updater.ts';

export const MANIFEST: Updater<ArtifactCandidate, 'platform' | 'arch'> = {
  path: '/u/:appRef/:channel/:platform/:arch/:version',
  deviceHeaders: [],
  parameters: ['bundle', 'bundle_type'],
  agent: 'tauri-plugin-updater/',
  ask({ platform, arch }, { parameters, hasAgent }) {
    const refusal = refuseArtifactName('platform', platform) ?? refuseArtifactName('arch', arch);
    if (refusal !== undefined) return refusal;
    const bundle = parameters.get('bundle') ?? parameters.get('bundle_type') ?? '';
    const kind = readKind('bundle', bundle);
    if (isFailure(kind)) return kind;
    const folded = foldPlatform(platform);
    return manifestQuestion(folded, foldArch(arch, folded), {
      kind,
      // Tauri's updater fails on an answer without a signature.
      mustBeSigned: hasAgent,
    });
  },
  mediaType: 'application/json',
  isConditional: false,
  offer: manifestOf,
  nothing: 'no-content',
};

/** Returns the question of devices with this platform and arch, both folded. */
export function manifestQuestion(
  platform: string,
  arch: string,
  { kind, mustBeSigned }: Installable = ANYTHING,
): Question<ArtifactCandidate> {
  return {
    client: mustBeSigned ? 'tauri' : 'u',
    ...(kind === ANY_KIND ? {} : { bundle: kind }),
    platform,
    arch,
    // Platform and arch may contain any character: the length separates them. A kind contains no space.
    planKey: `manifest ${mustBeSigned ? '!' : ''}${kind} ${platform.length} ${platform}${arch}`,
    candidates: (catalog) => {
      const installable = { kind, mustBeSigned: mustBeSigned || catalog.snapshot.requireSignature };
      const form = mustBeSigned ? FOR_TAURI : undefined;
      return candidatesFor(catalog, platform, arch, installable, form);
    },
  };
}

/**
 * Form of candidates for Tauri's updater, which reads only SemVer: `2.1` and `2026.01.05` get their canonical
 * versions, and a version with a fourth number is no candidate.
 */
const FOR_TAURI: CandidateForm = {
  name: 'tauri ',
  of: (candidate) => {
    const { version } = candidate.release;
    return isSemVer(version) ? { ...candidate, version: version.canonical } : undefined;
  },
};

/**
 * Returns the manifest that offers a candidate on the terms of a plan. Writes it once per combination of
 * terms, and keeps it with the candidate.
 */
export function manifestOf(
  plan: Pick<Plan, 'catalog' | 'isRequired' | 'allowDowngrade'>,
  candidate: ArtifactCandidate,
): Buffer {
  const { isRequired, allowDowngrade } = plan;
  const index = (isRequired ? 2 : 0) + (allowDowngrade ? 1 : 0);
  const known = candidate.documents[index];
  if (known !== undefined) return known;
  const { updateMode, minimumSupportedVersion } = plan.catalog.snapshot;
  const { source } = candidate.release;
  const version = candidate.version ?? source.version;
  const bytes = manifestBytes({ ...source, version }, candidate.artifact, {
    updateMode: isRequired ? 'required' : updateMode,
    minimumSupportedVersion,
    allowDowngrade,
  });
  candidate.documents[index] = bytes;
  return bytes;
}

export type ManifestTerms = {
  readonly updateMode: ChannelUpdateMode | 'required';
  readonly minimumSupportedVersion: string | null;
  readonly allowDowngrade: boolean;
};

/** Writes the manifest for devices that take this artifact, as JSON. A Buffer is sent without re-encoding. */
export function manifestBytes(
  release: SnapshotRelease,
  artifact: Artifact,
  terms: ManifestTerms,
): Buffer {
  return Buffer.from(JSON.stringify(writeManifest(release, artifact, terms)), 'utf8');
}

function writeManifest(
  release: SnapshotRelease,
  artifact: Artifact,
  terms: ManifestTerms,
): UpdateManifest {
  return {
    version: release.version,
    notes: release.notes,
    pub_date: release.createdAt,
    ...(artifact.url === undefined ? {} : { url: artifact.url }),
    ...(artifact.sha512 === undefined ? {} : { sha512: artifact.sha512 }),
    ...(artifact.signature === undefined ? {} : { signature: artifact.signature }),
    ...(artifact.size === undefined ? {} : { size: artifact.size }),
    updateMode: terms.updateMode,
    ...(terms.minimumSupportedVersion === null
      ? {}
      : { minimumSupportedVersion: terms.minimumSupportedVersion }),
    ...(terms.allowDowngrade ? { allowDowngrade: true } : {}),
  };
}
