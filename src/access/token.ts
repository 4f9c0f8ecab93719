// Tokens of sessions and of links that work once: 256 random bits, of which the ledger stores only the hash.

import { randomBytes } from 'node:crypto';
import { hashSecret } from './api-keys.ts';

type NewToken = { readonly token: string; readonly hash: string };

const FORM = /^[A-Za-z0-9_-]{43}$/;

export function createToken(): NewToken {
  const token = randomBytes(32).toString('base64url');
  return { token, hash: hashSecret(token) };
}

/** Returns the hash that identifies a token; undefined if the text does not have the form of a token. */
export function tokenHash(token: string | undefined): string | undefined {
  return token !== undefined && FORM.test(token) ? hashSecret(token) : undefined;
}
