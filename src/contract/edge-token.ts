// Tokens of edges, as the console API and the command line show them.

/** Token without its secret. */
export type ListedEdgeToken = {
  readonly id: string;
  readonly name: string;
  /** Organization whose apps the token is for; null for all. */
  readonly org: string | null;
  /** Public beginning of the secret. */
  readonly prefix: string;
  readonly createdAt: string;
  /** Author, as in the audit log. */
  readonly createdBy: string;
  /** RFC 3339; null while it is valid. */
  readonly revokedAt: string | null;
};

/**
 * New token. `secret`, shown only once, is the edge's `EDGE_TOKEN`: its credential, a dot, and the public key
 * with which it verifies the service's signatures.
 */
export type IssuedEdgeToken = ListedEdgeToken & { readonly secret: string };

export type RevokedEdgeToken = {
  readonly id: string;
  /** RFC 3339. */
  readonly revokedAt: string;
};
