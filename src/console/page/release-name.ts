// Names a release in the console's calls.

/** Name of a release: the ref of its app, its channel, and its version as it was published. */
export type ReleaseName = {
  readonly app: string;
  readonly channel: string;
  readonly version: string;
};
