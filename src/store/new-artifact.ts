// An artifact on its way into the ledger.

import type { Artifact } from '../contract/resource.ts';

/** Artifact as its publisher, or a code-hosting service, tells of it. */
export type NewArtifact = Artifact & {
  /**
   * SHA-256 in lower-case hex that a code-hosting service told. Updaters use it as the artifact's `sha256`;
   * it is not listed, because no publisher gave it.
   */
  readonly digest?: string;
};
