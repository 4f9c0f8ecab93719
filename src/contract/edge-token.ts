// Tokens of edges, as the console API and the command line show them.

/** Token without its secret. */
export type ListedEdgeToken = {
  readonly id: string;
  readonly name: string;
  /** Organization whose apps the token is for; null for all. */
  readonly org: string | null;
  /** Public beginning of the secret. */
  readonly prefix: string;
  /** RFC 3339. */
  readonly createdAt: string;
  /** Author, as the audit names them. */
  readonly createdBy: string;
  /** RFC 3339; null while it is valid. */
  readonly revokedAt: string | null;
};

/**
 * New token. `secret` is what the edge gets as `EDGE_TOKEN`, shown this once: what it authenticates with, a
 * dot, and the public key by which it knows what the service signed.
 */
export type IssuedEdgeToken = ListedEdgeToken & { readonly secret: string };

export type RevokedEdgeToken = {
  readonly id: string;
  /** RFC 3339. */
  readonly revokedAt: string;
};
