// Artifact that is being entered in a form.

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

/** Returns the artifact of a form row, or undefined for an empty row. */
export function artifactOf(draft: ArtifactDraft): Artifact | undefined {
  const filled = Object.entries(draft)
    .map(([name, value]) => [name, value.trim()] as const)
    .filter(([, value]) => value !== '');
  if (filled.length === 0) return undefined;
  const fields = filled.map(([name, value]) => [name, name === 'size' ? Number(value) : value]);
  // A row without a platform is sent as it is, so that the service's error message is displayed.
  return Object.fromEntries(fields) as Artifact;
}

/**
 * Returns the row of a release's artifact for the release after it: what the next file will have as well. Its
 * size, checksum and signature are of the old file.
 */
export function nextArtifact({
  platform,
  arch = '',
  format = '',
  url = '',
}: Artifact): ArtifactDraft {
  return { ...NEW_ARTIFACT, platform, arch, format, url };
}

/** Returns rows whose addresses name another version where they named this one; neither is empty. */
export function withVersion(
  artifacts: readonly ArtifactDraft[],
  from: string,
  to: string,
): readonly ArtifactDraft[] {
  return artifacts.map((artifact) => ({ ...artifact, url: artifact.url.replaceAll(from, to) }));
}
