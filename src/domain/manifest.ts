// The finished bytes of an update manifest. Field rules: contract section 2, and what Tauri's updater
// accepts: never `name`, never `platforms`, `pub_date` in RFC 3339. An empty url or signature would break a
// check; none can be published.

import type { Artifact, ChannelUpdateMode, UpdateManifest } from '../contract/resource.ts';
import type { SnapshotRelease } from './serving-snapshot.ts';

export type ManifestTerms = {
  readonly updateMode: ChannelUpdateMode | 'required';
  readonly minimumSupportedVersion: string | null;
  readonly allowDowngrade: boolean;
};

/** The manifest of a release for the device that takes this artifact on these terms. */
export function manifest(
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

/** The manifest as the bytes of its JSON; a Buffer, because sending one costs no re-encoding. */
export function manifestBytes(
  release: SnapshotRelease,
  artifact: Artifact,
  terms: ManifestTerms,
): Buffer {
  return Buffer.from(JSON.stringify(manifest(release, artifact, terms)), 'utf8');
}
