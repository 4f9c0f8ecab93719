// Tokens that stand for a person: of sessions and of invitations. 256 random bits, of which the ledger
// keeps the hash alone.

import { randomBytes } from 'node:crypto';
import { hashSecret } from './api-key.ts';

export type SessionToken = { readonly token: string; readonly hash: string };

const FORM = /^[A-Za-z0-9_-]{43}$/;

export function createSessionToken(): SessionToken {
  const token = randomBytes(32).toString('base64url');
  return { token, hash: hashSecret(token) };
}

/** The hash to look it up by, or undefined when it has not the form of one: that needs no look-up. */
export function tokenHash(token: string | undefined): string | undefined {
  return token !== undefined && FORM.test(token) ? hashSecret(token) : undefined;
}
