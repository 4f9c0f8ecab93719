// API keys: creation of secrets, and their stored form. A secret carries 256 random bits, so a plain SHA-256
// of it is safe to store: it cannot be guessed, so a slow hash would add nothing.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

export type ApiKeySecret = {
  /** Complete secret, shown once. */
  readonly secret: string;
  /** Public part of the secret: it makes a leaked key recognisable, and the key is looked up by it. */
  readonly prefix: string;
  /** Lower-case hex SHA-256 of the whole secret. */
  readonly hash: string;
};

const FORM = /^sluice_[0-9a-f]{12}_[A-Za-z0-9_-]{43}$/;
const PREFIX_LENGTH = 'sluice_'.length + 12;

/** Creates a secret of the form `sluice_<12 hex>_<43 base64url>`. */
export function createApiKeySecret(): ApiKeySecret {
  const prefix = `sluice_${randomBytes(6).toString('hex')}`;
  const secret = `${prefix}_${randomBytes(32).toString('base64url')}`;
  return { secret, prefix, hash: hashSecret(secret) };
}

/** Returns the public part of a presented secret, or undefined when it does not have the form of a secret. */
export function apiKeyPrefix(secret: string): string | undefined {
  return FORM.test(secret) ? secret.slice(0, PREFIX_LENGTH) : undefined;
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
