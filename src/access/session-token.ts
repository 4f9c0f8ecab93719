// Tokens of sessions and invitations: 256 random bits, of which the ledger keeps only the hash.

import { randomBytes } from 'node:crypto';
import { hashSecret } from './bearer-secret.ts';

export type SessionToken = { readonly token: string; readonly hash: string };

const FORM = /^[A-Za-z0-9_-]{43}$/;

export function createSessionToken(): SessionToken {
  const token = randomBytes(32).toString('base64url');
  return { token, hash: hashSecret(token) };
}

/**
 * Returns the hash by which a token is looked up, or undefined when the text does not have the form of a
 * token.
 */
export function tokenHash(token: string | undefined): string | undefined {
  return token !== undefined && FORM.test(token) ? hashSecret(token) : undefined;
}
