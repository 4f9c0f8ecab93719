// Secrets that programs authenticate with: `<word>_<12 hex>_<43 base64url>`. They carry 256 random bits, so a
// plain SHA-256 of one is safe to store: it cannot be guessed, so a slow hash would add nothing.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

export type BearerSecret = {
  /** Complete secret, shown once. */
  readonly secret: string;
  /** Public part of the secret: it makes a leaked one recognisable, and what it is of is looked up by it. */
  readonly prefix: string;
  /** Lower-case hex SHA-256 of the whole secret. */
  readonly hash: string;
};

/** What secrets are of, which they begin with. */
export type SecretWord = 'sluice' | 'sluice-edge';

const REST = /^_[0-9a-f]{12}_[A-Za-z0-9_-]{43}$/;
/** Length of the part of the prefix that follows the word. */
const PREFIX_REST_LENGTH = 13;

/** Creates a secret. */
export function createBearerSecret(word: SecretWord): BearerSecret {
  const prefix = `${word}_${randomBytes(6).toString('hex')}`;
  const secret = `${prefix}_${randomBytes(32).toString('base64url')}`;
  return { secret, prefix, hash: hashSecret(secret) };
}

/** Returns the public part of a presented secret, or undefined when it does not have the form of one. */
export function prefixOfSecret(word: SecretWord, secret: string): string | undefined {
  const isOne = secret.startsWith(word) && REST.test(secret.slice(word.length));
  return isOne ? secret.slice(0, word.length + PREFIX_REST_LENGTH) : undefined;
}

/** Returns the lower-case hex SHA-256 of a secret. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Compares two secrets or hashes in constant time. */
export function equalSecrets(left: string, right: string): boolean {
  const a = createHash('sha256').update(left).digest();
  const b = createHash('sha256').update(right).digest();
  return timingSafeEqual(a, b);
}
