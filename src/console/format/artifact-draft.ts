// An artifact as it is being typed.

import type { Artifact } from '../../contract/resource.ts';

export type ArtifactDraft = Readonly<
  Record<'platform' | 'arch' | 'url' | 'sha512' | 'size' | 'signature', string>
>;

export const NEW_ARTIFACT: ArtifactDraft = {
  platform: '',
  arch: '',
  url: '',
  sha512: '',
  size: '',
  signature: '',
};

/** The artifact a row stands for; undefined for a row in which nothing stands. */
export function artifactOf(draft: ArtifactDraft): Artifact | undefined {
  const filled = Object.entries(draft)
    .map(([name, value]) => [name, value.trim()] as const)
    .filter(([, value]) => value !== '');
  if (filled.length === 0) return undefined;
  const fields = filled.map(([name, value]) => [name, name === 'size' ? Number(value) : value]);
  // A row without a platform is sent as it is: the service says what is wrong with it.
  return Object.fromEntries(fields) as Artifact;
}
