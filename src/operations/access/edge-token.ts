// Tokens of edges: creation of secrets, and their form.

import { randomBytes } from 'node:crypto';
import { hashSecret } from './api-key.ts';

export type EdgeTokenSecret = {
  /** Complete secret, with which an edge authenticates. */
  readonly secret: string;
  /** Public part of the secret: it makes a leaked token recognisable, and the token is looked up by it. */
  readonly prefix: string;
  /** Lower-case hex SHA-256 of the whole secret. */
  readonly hash: string;
};

const FORM = /^sluice-edge_[0-9a-f]{12}_[A-Za-z0-9_-]{43}$/;
const PREFIX_LENGTH = 'sluice-edge_'.length + 12;

/** Creates a secret of the form `sluice-edge_<12 hex>_<43 base64url>`. */
export function createEdgeTokenSecret(): EdgeTokenSecret {
  const prefix = `sluice-edge_${randomBytes(6).toString('hex')}`;
  const secret = `${prefix}_${randomBytes(32).toString('base64url')}`;
  return { secret, prefix, hash: hashSecret(secret) };
}

/** Returns the public part of a presented secret, or undefined when it does not have the form of one. */
export function edgeTokenPrefix(secret: string): string | undefined {
  return FORM.test(secret) ? secret.slice(0, PREFIX_LENGTH) : undefined;
}
