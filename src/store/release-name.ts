// Names a release in the ledger.

/** Name of a release: its app (ref or id), its channel, and its version in canonical form. */
export type ReleaseName = {
  readonly app: string;
  readonly channel: string;
  readonly canonicalVersion: string;
};
