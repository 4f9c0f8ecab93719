// Artifact that a person enters in a form.

import type { Artifact } from '../../contract/resource.ts';

export type ArtifactDraft = Readonly<
  Record<'platform' | 'arch' | 'format' | 'url' | 'sha512' | 'size' | 'signature', string>
>;

export const NEW_ARTIFACT: ArtifactDraft = {
  platform: '',
  arch: '',
  format: '',
  url: '',
  sha512: '',
  size: '',
  signature: '',
};

/** Returns the artifact of a form row; undefined for an empty row. */
export function artifactOf(draft: ArtifactDraft): Artifact | undefined {
  const filled = Object.entries(draft)
    .map(([name, value]) => [name, value.trim()] as const)
    .filter(([, value]) => value !== '');
  if (filled.length === 0) return undefined;
  const fields = filled.map(([name, value]) => [name, name === 'size' ? Number(value) : value]);
  // A row without a platform is sent unchanged, so that the page shows the service's error.
  return Object.fromEntries(fields) as Artifact;
}

/** Returns the row for the next release: the same target and URL, without size, checksum and signature. */
export function nextArtifact({
  platform,
  arch = '',
  format = '',
  url = '',
}: Artifact): ArtifactDraft {
  return { ...NEW_ARTIFACT, platform, arch, format, url };
}

/** Returns rows whose URLs contain version `to` instead of `from`; neither may be empty. */
export function withVersion(
  artifacts: readonly ArtifactDraft[],
  from: string,
  to: string,
): readonly ArtifactDraft[] {
  return artifacts.map((artifact) => ({ ...artifact, url: artifact.url.replaceAll(from, to) }));
}
